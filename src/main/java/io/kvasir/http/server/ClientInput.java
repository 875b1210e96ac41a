package io.kvasir.http.server;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.apache.pekko.util.ByteString;
import org.jspecify.annotations.Nullable;

/**
 * What a client sends, read on a thread of its own and handed on as it comes. It stops reading only when {@value
 * #READ_AHEAD} bytes wait that have not been consumed.
 */
final class ClientInput {
  private static final int READ_AHEAD = 64 << 10;
  private static final int SMALL_READ = 8 << 10;
  private static final int LARGE_READ = 64 << 10;

  private final InputHandler handler;
  private final AtomicInteger unconsumed = new AtomicInteger();
  private volatile @Nullable Thread reader;

  /** Whose input it is. */
  interface InputHandler {
    /** Notes that bytes came; false when they are to be dropped. */
    boolean received();

    /** The stream they go to, null when there is none any more. */
    @Nullable InboundStream inbound();

    /** Whether there is nothing more to be read. */
    boolean isClosed();
  }

  ClientInput(InputHandler reading) {
    this.handler = reading;
  }

  /** Reads to the end, on the thread that calls. */
  void read(InputStream in) throws IOException {
    reader = Thread.currentThread();
    byte[] buffer = new byte[SMALL_READ];
    while (true) {
      int length = in.read(buffer, 0, buffer.length);
      if (length < 0) {
        return;
      }
      if (!handler.received()) {
        continue;
      }
      unconsumed.addAndGet(length);
      InboundStream stream = handler.inbound();
      if (stream == null) {
        return;
      }
      stream.received().invoke(ByteString.fromArrayUnsafe(Arrays.copyOf(buffer, length)));
      if (length == buffer.length && length < LARGE_READ) {
        buffer = new byte[LARGE_READ];
      } else if (length < SMALL_READ && buffer.length > SMALL_READ) {
        buffer = new byte[SMALL_READ];
      }
      while (unconsumed.get() > READ_AHEAD && !handler.isClosed() && handler.inbound() != null) {
        LockSupport.park(this);
      }
    }
  }

  /** Notes that so many bytes of those handed on have been consumed. */
  void consumed(int bytes) {
    if (unconsumed.addAndGet(-bytes) <= READ_AHEAD && unconsumed.get() + bytes > READ_AHEAD) {
      wake();
    }
  }

  /** Makes the reading thread check again whether it is to go on. */
  void wake() {
    Thread thread = reader;
    if (thread != null) {
      LockSupport.unpark(thread);
    }
  }
}
