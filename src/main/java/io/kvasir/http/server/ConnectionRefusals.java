package io.kvasir.http.server;

import java.io.IOException;
import java.net.Socket;
import java.util.concurrent.Semaphore;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Refuses connections with an answer as long as that is cheap; further ones are left to be closed. Thread-safe. */
final class ConnectionRefusals {
  private static final Logger LOG = LoggerFactory.getLogger(ConnectionRefusals.class);

  /** Answers at the same time. */
  private static final int MAX_ANSWERS = 256;

  private static final int MAX_WAIT_MILLIS = 1000;
  private static final int MAX_REQUEST_BYTES = 64 << 10;

  private final Semaphore answers = new Semaphore(MAX_ANSWERS);

  /** Writes the answer and closes the connection, on a thread of its own; false when there are too many for that. */
  boolean refuse(Socket socket, Supplier<byte[]> answer) {
    if (!answers.tryAcquire()) {
      return false;
    }
    Thread.startVirtualThread(
        () -> {
          try (socket) {
            socket.getOutputStream().write(answer.get());
            socket.shutdownOutput();
            // Closing with bytes unread would reset the connection before the client has read the answer.
            socket.setSoTimeout(MAX_WAIT_MILLIS);
            socket.getInputStream().skip(MAX_REQUEST_BYTES);
          } catch (IOException e) {
            LOG.debug("A refused connection ended: {}", e.toString());
          } finally {
            answers.release();
          }
        });
    return true;
  }
}
