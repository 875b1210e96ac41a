package io.kvasir.http.server;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;
import org.apache.pekko.Done;
import org.jspecify.annotations.Nullable;

/**
 * What a client sends, read on a thread of its own and kept until it is taken, in one piece however many segments it
 * came in. It stops reading when more than {@value #READ_AHEAD} bytes have not been taken.
 */
final class ClientInput {
  private static final int READ_AHEAD = 64 << 10;
  private static final int SMALL_READ = 8 << 10;
  private static final int LARGE_READ = 64 << 10;
  private static final byte[] NONE = new byte[0];

  private final InputHandler handler;
  private volatile @Nullable Thread reader;

  // Guarded by this.
  private byte[] waiting = NONE;
  private int size;
  private boolean awaited;

  /** Whose input it is. */
  interface InputHandler {
    /** Notes that so many bytes came; false when they are to be dropped. */
    boolean received(int bytes);

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
      if (!handler.received(length)) {
        continue;
      }
      InboundStream stream = handler.inbound();
      if (stream == null) {
        return;
      }
      if (append(buffer, length)) {
        stream.available().invoke(Done.getInstance());
      }
      if (length == buffer.length && length < LARGE_READ) {
        buffer = new byte[LARGE_READ];
      } else if (length < SMALL_READ && buffer.length > SMALL_READ) {
        buffer = new byte[SMALL_READ];
      }
      while (isFull() && !handler.isClosed() && handler.inbound() != null) {
        LockSupport.park(this);
      }
    }
  }

  /** Adds what was read; whether somebody waits for it. */
  private synchronized boolean append(byte[] buffer, int length) {
    if (size == 0) {
      waiting = Arrays.copyOf(buffer, length);
    } else {
      if (size + length > waiting.length) {
        waiting = Arrays.copyOf(waiting, Math.max(size + length, 2 * size));
      }
      System.arraycopy(buffer, 0, waiting, size, length);
    }
    size += length;
    boolean notify = awaited;
    awaited = false;
    return notify;
  }

  private synchronized boolean isFull() {
    return size > READ_AHEAD;
  }

  /** Takes all that has come and not been taken; null when that is nothing, and then the next bytes are announced. */
  byte @Nullable [] take() {
    byte[] taken;
    boolean full;
    synchronized (this) {
      if (size == 0) {
        awaited = true;
        return null;
      }
      taken = size == waiting.length ? waiting : Arrays.copyOf(waiting, size);
      full = size > READ_AHEAD;
      waiting = NONE;
      size = 0;
    }
    if (full) {
      wake();
    }
    return taken;
  }

  /** Makes the reading thread check again whether it is to go on. */
  void wake() {
    Thread thread = reader;
    if (thread != null) {
      LockSupport.unpark(thread);
    }
  }
}
