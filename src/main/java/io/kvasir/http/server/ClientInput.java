package io.kvasir.http.server;

import io.kvasir.http.ChannelLoop.Next;
import io.kvasir.http.MemoryBudget;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.pekko.Done;
import org.jspecify.annotations.Nullable;

/**
 * What a client has sent, kept until it is taken, in one piece however many segments it came in. Reading pauses when as
 * much has not been taken as is read at once: {@value #SMALL_READ} bytes, or {@value #LARGE_READ} of a body that comes
 * fast, where there is memory for it. One thread reads; another takes.
 */
final class ClientInput {
  private static final int SMALL_READ = 8 << 10;
  private static final int LARGE_READ = 128 << 10;

  /** What large reads take: the buffer, what is kept, and what was taken and is being parsed. */
  private static final int LARGE_READ_BYTES = 4 * LARGE_READ;

  private static final byte[] NONE = new byte[0];

  private final InputHandler handler;
  private final MemoryBudget memory;
  private final Runnable resume;

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

  /** An input whose reading {@code resume} continues after a pause. */
  ClientInput(InputHandler reading, MemoryBudget memory, Runnable resume) {
    this.handler = reading;
    this.memory = memory;
    this.resume = resume;
  }

  /** How many bytes are to be read at once. */
  synchronized int nextRead() {
    return most;
  }

  /** Takes what was read, from the buffer's position to its limit. */
  Next accept(ByteBuffer buffer) {
    int length = buffer.remaining();
    if (!handler.received(length)) {
      return Next.MORE;
    }
    InboundStream stream = handler.inbound();
    if (stream == null) {
      return Next.END;
    }
    if (append(buffer)) {
      stream.available().invoke(Done.getInstance());
    }
    if (nextRead() == SMALL_READ) {
      if (length == SMALL_READ && handler.awaitsBody() && memory.tryBookReading(LARGE_READ_BYTES)) {
        readAtMost(LARGE_READ);
      }
    } else if (length < SMALL_READ || !handler.awaitsBody()) {
      readAtMost(SMALL_READ);
      memory.freeReading(LARGE_READ_BYTES);
    }
    return isPaused() ? Next.PAUSE : Next.MORE;
  }

  /** Whether reading waits until something has been taken. */
  boolean isPaused() {
    return isFull() && !handler.isClosed() && handler.inbound() != null;
  }

  /** Nothing more is read. */
  void ended() {
    if (nextRead() == LARGE_READ) {
      readAtMost(SMALL_READ);
      memory.freeReading(LARGE_READ_BYTES);
    }
  }

  /** Adds what was read; whether somebody waits for it. */
  private synchronized boolean append(ByteBuffer buffer) {
    int length = buffer.remaining();
    if (size == 0) {
      waiting = new byte[length];
    } else if (size + length > waiting.length) {
      waiting = Arrays.copyOf(waiting, Math.max(size + length, 2 * size));
    }
    buffer.get(waiting, size, length);
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

  /** Has reading checked again whether it is to go on. */
  void wake() {
    resume.run();
  }
}
