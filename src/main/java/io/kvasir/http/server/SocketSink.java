package io.kvasir.http.server;

import io.kvasir.http.ByteSink;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import org.apache.pekko.Done;
import org.apache.pekko.stream.stage.AsyncCallback;
import org.jspecify.annotations.Nullable;

/** The sink that writes a body straight to the socket, past the stream, between the head and the end. */
final class SocketSink implements ByteSink {
  private final ClientConnection connection;
  private final CountDownLatch headSent = new CountDownLatch(1);
  private final boolean chunked;
  private volatile @Nullable AsyncCallback<Done> end;

  /** A sink that is open once the head has been sent. */
  SocketSink(ClientConnection connection, boolean chunked) {
    this.connection = connection;
    this.chunked = chunked;
  }

  /** Notes that the head has been written; {@code end} ends the body. */
  void open(AsyncCallback<Done> end) {
    this.end = end;
    headSent.countDown();
  }

  /** Notes that the stream takes no body any more. */
  void close() {
    headSent.countDown();
  }

  void awaitHead() throws InterruptedException {
    headSent.await();
  }

  /** Ends the body; null when the head was never sent. */
  @Nullable AsyncCallback<Done> end() {
    return end;
  }

  @Override
  public void write(byte[] bytes, int offset, int length) throws IOException {
    if (end == null) {
      throw new IOException("the client disconnected before the answer's head");
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
