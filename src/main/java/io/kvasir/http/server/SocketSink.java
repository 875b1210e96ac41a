package io.kvasir.http.server;

import io.kvasir.http.DeferringSink;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import org.apache.pekko.Done;
import org.apache.pekko.stream.stage.AsyncCallback;
import org.jspecify.annotations.Nullable;

/**
 * The sink that writes a body straight to the socket, past the stream, between the head and the end. After the end
 * nothing can be written, by whichever thread: what follows on the connection is another exchange's. Thread-safe.
 */
final class SocketSink implements DeferringSink {
  private final ClientConnection connection;
  private final ClientOutput output;
  private final CountDownLatch headSent = new CountDownLatch(1);
  private final boolean chunked;

  // Guarded by this.
  private @Nullable AsyncCallback<Done> end;
  private boolean ended;
  private boolean broken;

  /** A sink that is open once the head has been sent. */
  SocketSink(ClientConnection connection, boolean chunked) {
    this.connection = connection;
    this.output = connection.output();
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
    checkOpen();
    if (length == 0) {
      return;
    }
    try {
      if (chunked) {
        output.writeChunk(bytes, offset, length);
      } else {
        output.write(bytes, offset, length);
      }
    } catch (IOException e) {
      throw disconnected(e);
    }
  }

  @Override
  public boolean canOffer() {
    return output.canOffer();
  }

  @Override
  public synchronized void offer(byte[] bytes, int offset, int length) throws IOException {
    checkOpen();
    if (length == 0) {
      return;
    }
    try {
      if (chunked) {
        output.offerChunk(bytes, offset, length);
      } else {
        output.offer(bytes, offset, length);
      }
    } catch (IOException e) {
      // Ending the connection runs what others have registered, for which the offering thread has no time.
      broken = true;
      throw e;
    }
  }

  /** Ends the connection if an offer has found that the client has disconnected. */
  void disconnectIfBroken() {
    boolean disconnected;
    synchronized (this) {
      disconnected = broken;
    }
    if (disconnected) {
      connection.disconnected();
    }
  }

  @Override
  public synchronized boolean isBehind() {
    return output.isBehind();
  }

  @Override
  public synchronized void flush() throws IOException {
    checkOpen();
    try {
      output.flush();
    } catch (IOException e) {
      throw disconnected(e);
    }
  }

  private void checkOpen() throws IOException {
    if (end == null) {
      throw new IOException("the client disconnected before the answer's head");
    }
    if (ended) {
      throw new IOException("the answer has ended");
    }
    if (connection.isDisconnected()) {
      // The socket is closed only when those who were told have ended, and takes bytes for nobody until then.
      throw new IOException("the client disconnected");
    }
  }

  private IOException disconnected(IOException e) {
    // Who reads the connection may learn it later, or never while that pauses for room.
    connection.disconnected();
    return e;
  }
}
