package io.kvasir.http.server;

import io.kvasir.http.MemoryBudget;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;
import org.apache.pekko.Done;
import org.jspecify.annotations.Nullable;

/**
 * What a client sends, read on a thread of its own and kept until it is taken, in one piece however many segments it
 * came in. It stops reading when as much has not been taken as it reads at once: {@value #SMALL_READ} bytes, or {@value
 * #LARGE_READ} of a body that comes fast, where there is memory for it.
 */
final class ClientInput {
  private static final int SMALL_READ = 8 << 10;
  private static final int LARGE_READ = 64 << 10;

  /** What large reads take: the buffer, what is kept, and what was taken and is being parsed. */
  private static final int LARGE_READ_BYTES = 4 * LARGE_READ;

  private static final byte[] NONE = new byte[0];

  private final InputHandler handler;
  private final MemoryBudget memory;
  private volatile @Nullable Thread reader;

  // Guarded by this.
  private byte[] waiting = NONE;
  private int size;
  private int most = SMALL_READ;
  private boolean awaited;

  /** Whose input it is. */
  interface InputHandler {
    /** Notes that so many bytes came; false when they are to be dropped. */
    boolean received(int bytes);

    /** The stream they go to, null when there is none any more. */
    @Nullable InboundStream inbound();

    /** Whether what comes next belongs to the body of a request. */
    boolean awaitsBody();

    /** Whether there is nothing more to be read. */
    boolean isClosed();
  }

  ClientInput(InputHandler reading, MemoryBudget memory) {
    this.handler = reading;
    this.memory = memory;
  }

  /** Reads to the end, on the thread that calls. */
  void read(InputStream in) throws IOException {
    reader = Thread.currentThread();
    try {
      readAll(in);
    } finally {
      if (most == LARGE_READ) {
        memory.freeReading(LARGE_READ_BYTES);
      }
    }
  }

  private void readAll(InputStream in) throws IOException {
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
      if (buffer.length == SMALL_READ) {
        if (length == SMALL_READ && handler.awaitsBody() && memory.tryBookReading(LARGE_READ_BYTES)) {
          buffer = new byte[LARGE_READ];
          readAtMost(LARGE_READ);
        }
      } else if (length < SMALL_READ || !handler.awaitsBody()) {
        buffer = new byte[SMALL_READ];
        readAtMost(SMALL_READ);
        memory.freeReading(LARGE_READ_BYTES);
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

  private synchronized void readAtMost(int bytes) {
    most = bytes;
  }

  private synchronized boolean isFull() {
    return size >= most;
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
      full = size >= most;
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
