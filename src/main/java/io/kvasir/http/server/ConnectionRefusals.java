package io.kvasir.http.server;

import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Refuses connections with an answer as long as that is cheap; further ones are left to be closed. Thread-safe. */
final class ConnectionRefusals {
  private static final Logger LOG = LoggerFactory.getLogger(ConnectionRefusals.class);

  /** Answers at the same time. */
  private static final int MAX_ANSWERS = 256;

  /** In all, however many pieces come. */
  private static final int MAX_WAIT_MILLIS = 1000;

  private static final int MAX_REQUEST_BYTES = 64 << 10;
  private static final int PIECE_BYTES = 2 << 10;

  private final Semaphore answers = new Semaphore(MAX_ANSWERS);
  private final NanoClock clock;

  ConnectionRefusals(NanoClock clock) {
    this.clock = clock;
  }

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
            drop(socket);
          } catch (IOException e) {
            LOG.debug("A refused connection ended: {}", e.toString());
          } finally {
            answers.release();
          }
        });
    return true;
  }

  /**
   * Drops what the client sends, within the limits: closing with bytes unread would reset the connection before the
   * client has read the answer.
   */
  private void drop(Socket socket) throws IOException {
    InputStream in = socket.getInputStream();
    byte[] dropped = new byte[PIECE_BYTES];
    long begun = clock.nanos();
    for (int left = MAX_REQUEST_BYTES; left > 0; ) {
      long waited = TimeUnit.NANOSECONDS.toMillis(clock.nanos() - begun);
      if (waited >= MAX_WAIT_MILLIS) {
        return;
      }
      socket.setSoTimeout((int) (MAX_WAIT_MILLIS - waited));
      int count = in.read(dropped, 0, Math.min(left, PIECE_BYTES));
      if (count < 0) {
        return;
      }
      left -= count;
    }
  }
}
