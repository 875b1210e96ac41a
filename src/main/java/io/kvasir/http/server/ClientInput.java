package io.kvasir.http.server;

import io.kvasir.http.ChannelReader.Next;
import io.kvasir.http.MemoryBudget;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.pekko.Done;
import org.jspecify.annotations.Nullable;

/**
 * What a client has sent, kept until it is taken, in one piece however many segments it came in, or put where it is to
 * go. Reading pauses when as much has not been taken as is read at once: {@value #SMALL_READ} bytes, or {@value
 * #LARGE_READ} of a body that comes fast, where there is memory for it. One thread reads; another takes.
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

  /** Where what comes next goes, past what waits; null when it waits to be taken. */
  private byte @Nullable [] target;
  private int filledTo;
  private int fillTo;
  private Runnable filled = () -> {};

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

  /** How many bytes are to be read at once into a buffer of the connection's own. */
  synchronized int nextRead() {
    return most;
  }

  /** How many bytes can be taken at once, by one who has a buffer for them anyway. */
  synchronized int room() {
    return target == null ? most : Math.max(most, fillTo - filledTo);
  }

  /**
   * Has what comes next go into {@code to} from {@code at} up to {@code end}, first of all what has come and waits;
   * then runs {@code whenFilled}, on a thread that must not be kept.
   */
  void fill(byte[] to, int at, int end, Runnable whenFilled) {
    boolean full;
    boolean paused;
    synchronized (this) {
      paused = size >= most;
      int count = Math.min(size, end - at);
      System.arraycopy(waiting, 0, to, at, count);
      size -= count;
      waiting = size == 0 ? NONE : Arrays.copyOfRange(waiting, count, count + size);
      full = at + count == end;
      if (!full) {
        target = to;
        filledTo = at + count;
        fillTo = end;
        filled = whenFilled;
      }
    }
    if (full) {
      whenFilled.run();
    }
    if (paused) {
      wake();
    }
  }

  /** Has what comes next wait to be taken again. */
  synchronized void stopFilling() {
    target = null;
    filled = () -> {};
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
    Runnable whenFilled;
    boolean announced;
    synchronized (this) {
      // Together: who is told that it is filled may have the rest go elsewhere at once.
      whenFilled = fill(buffer);
      announced = buffer.hasRemaining() && append(buffer);
    }
    if (whenFilled != null) {
      whenFilled.run();
    }
    if (announced) {
      stream.available().invoke(Done.getInstance());
    }
    if (nextRead() == SMALL_READ) {
      if (length == SMALL_READ) {
        beginLargeReads();
      }
    } else if (length < SMALL_READ || !handler.awaitsBody()) {
      endLargeReads();
    }
    return isPaused() ? Next.PAUSE : Next.MORE;
  }

  /** Whether reading waits until something has been taken. */
  boolean isPaused() {
    return isFull() && !handler.isClosed() && handler.inbound() != null;
  }

  private synchronized void beginLargeReads() {
    // Within the lock: once no body is awaited, they are ended.
    if (most == SMALL_READ && handler.awaitsBody() && memory.tryBookReading(LARGE_READ_BYTES)) {
      most = LARGE_READ;
    }
  }

  /** Has no more be read at once than of anything, for no body is awaited, and gives the memory back. Idempotent. */
  synchronized void endLargeReads() {
    if (most == LARGE_READ) {
      most = SMALL_READ;
      memory.freeReading(LARGE_READ_BYTES);
    }
  }

  /** Moves what was read to where it goes; what is to be run as that is full, null when it is not. Holds the lock. */
  private @Nullable Runnable fill(ByteBuffer buffer) {
    if (target == null) {
      return null;
    }
    int count = Math.min(buffer.remaining(), fillTo - filledTo);
    buffer.get(target, filledTo, count);
    filledTo += count;
    if (filledTo < fillTo) {
      return null;
    }
    Runnable done = filled;
    stopFilling();
    return done;
  }

  /** Adds what was read; whether somebody waits for it. Holds the lock. */
  private boolean append(ByteBuffer buffer) {
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
