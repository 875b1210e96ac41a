package io.kvasir.http.server;

import io.kvasir.http.ByteSink;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import org.apache.pekko.Done;
import org.apache.pekko.stream.stage.AsyncCallback;
import org.jspecify.annotations.Nullable;

/**
 * The sink that writes a body straight to the socket, past the stream, between the head and the end. After the end
 * nothing can be written, by whichever thread: what follows on the connection is another exchange's. Thread-safe.
 */
final class SocketSink implements ByteSink {
  private final ClientConnection connection;
  private final CountDownLatch headSent = new CountDownLatch(1);
  private final boolean chunked;

  // Guarded by this.
  private @Nullable AsyncCallback<Done> end;
  private boolean ended;

  /** A sink that is open once the head has been sent. */
  SocketSink(ClientConnection connection, boolean chunked) {
    this.connection = connection;
    this.chunked = chunked;
  }

  /** Notes that the head has been written; {@code end} ends the body. */
  void open(AsyncCallback<Done> toEnd) {
    synchronized (this) {
      end = toEnd;
    }
    headSent.countDown();
  }

  /** Notes that the stream takes no body any more. */
  void close() {
    headSent.countDown();
  }

  void awaitHead() throws InterruptedException {
    headSent.await();
  }

  /** Ends writing, after what is being written; the callback then ends the body, null when it never began. */
  synchronized @Nullable AsyncCallback<Done> end() {
    ended = true;
    return end;
  }

  @Override
  public synchronized void write(byte[] bytes, int offset, int length) throws IOException {
    if (end == null) {
      throw new IOException("the client disconnected before the answer's head");
    }
    if (ended) {
      throw new IOException("the answer has ended");
    }
    if (length == 0) {
      return;
    }
    try {
      if (chunked) {
        connection.output().writeChunk(bytes, offset, length);
      } else {
        connection.output().write(bytes, offset, length);
      }
    } catch (IOException e) {
      // The reading thread may learn it later, or never when it waits for room.
      connection.disconnected();
      throw e;
    }
  }
}
