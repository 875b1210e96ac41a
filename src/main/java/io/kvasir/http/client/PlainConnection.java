package io.kvasir.http.client;

import io.kvasir.http.ChannelLoop;
import io.kvasir.http.ChannelReader;
import io.kvasir.http.ConnectionThread;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A connection without encryption, which a loop watches for as long as it is open. A call that waits for bytes is woken
 * by the loop, on the loop's own thread where it runs there, and reads them itself; or the loop reads them for it.
 */
final class PlainConnection extends CallConnection implements ChannelReader {
  /** More is written in pieces, as the JVM copies a piece out of the heap. */
  private static final int PIECE_BYTES = 128 << 10;

  /** Whose turn it is. The call's thread and the loop's change it, each from what it is to what follows for them. */
  private enum Turn {
    /** No call has it: whatever comes ends it. */
    IDLE,
    /** A call has it, and does not wait for bytes. */
    CALL,
    /** The call waits for bytes. */
    AWAITED,
    /** Bytes have come for which the call has waited. */
    READABLE,
    /** The loop has paused, at first or as bytes came for which the call did not wait yet: the call looks for them. */
    AHEAD,
    /** The loop reads for the call. */
    LOOP,
    /** Nobody's: the loop has let go of it. */
    OVER
  }

  private final Supplier<ChannelLoop> loop;
  private final AtomicReference<Turn> turn = new AtomicReference<>(Turn.AHEAD);

  /** The call's thread while it waits. */
  private volatile @Nullable Thread waiting;

  /** Reads for the call. */
  private volatile @Nullable ChannelReader reader;

  PlainConnection(PodOrigin origin, Supplier<ChannelLoop> loop) throws IOException {
    super(origin);
    this.loop = loop;
  }

  @Override
  void open(Socket socket) throws IOException {
    watchBy(loop.get(), this);
  }

  private Turn turn() {
    return Objects.requireNonNull(turn.get());
  }

  @Override
  boolean isNear() {
    return isWatchedByCaller();
  }

  // Between calls.

  @Override
  void idleSince(long now) {
    super.idleSince(now);
    if (turn.getAndUpdate(is -> is == Turn.OVER ? is : Turn.IDLE) == Turn.AHEAD) {
      resume();
    }
  }

  @Override
  synchronized boolean reuse() {
    // The loop may not have come to see that it has been closed.
    return turn.compareAndSet(Turn.IDLE, Turn.CALL) && hasNothing();
  }

  /** Whether it is idle and something has come of which nobody knows what it is: no call has it any more. */
  private synchronized boolean isSpoilt() {
    if (turn.get() != Turn.IDLE || hasNothing()) {
      return false;
    }
    turn.set(Turn.OVER);
    return true;
  }

  /** Whether nothing has come. Takes a byte of what has, so under a lock that lets no call begin meanwhile. */
  private boolean hasNothing() {
    try {
      return channel().read(ByteBuffer.allocate(1)) == 0;
    } catch (IOException e) {
      return false;
    }
  }

  // The call's thread.

  @Override
  void write(byte[] bytes, int offset, int length) throws IOException {
    int end = offset + length;
    for (int at = offset; at < end; ) {
      int written = channel().write(ByteBuffer.wrap(bytes, at, Math.min(PIECE_BYTES, end - at)));
      at += written;
      if (written == 0) {
        watch().awaitWritable();
      }
    }
  }

  @Override
  int readDirectly(byte[] bytes, int offset, int length) throws IOException {
    while (true) {
      int read = 0;
      switch (turn()) {
        case CALL -> {
          if (turn.compareAndSet(Turn.CALL, Turn.AWAITED)) {
            await(Turn.AWAITED);
          }
        }
        case READABLE -> {
          // Before it is read: what comes after that is new.
          turn.compareAndSet(Turn.READABLE, Turn.CALL);
          read = readNow(bytes, offset, length);
        }
        case AHEAD -> {
          read = readNow(bytes, offset, length);
          if (read == 0 && turn.compareAndSet(Turn.AHEAD, Turn.CALL)) {
            resume();
          }
        }
        case LOOP -> {
          return readNow(bytes, offset, length);
        }
        case OVER -> throw new AsynchronousCloseException();
        case IDLE, AWAITED -> throw new IllegalStateException("read by a call that does not have it");
      }
      if (read != 0) {
        return read;
      }
    }
  }

  /** Waits until it is another turn. */
  private void await(Turn now) {
    boolean interrupted = false;
    waiting = Thread.currentThread();
    while (turn.get() == now) {
      ConnectionThread.park(this);
      interrupted |= Thread.interrupted();
    }
    waiting = null;
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Has {@code next} read what comes, until it wants nothing more; at its end it is the call's turn again. After a
   * pause it goes on with {@link #resume}.
   */
  void handTo(ChannelReader next) throws IOException {
    reader = next;
    Turn before = turn.getAndUpdate(is -> is == Turn.OVER ? is : Turn.LOOP);
    if (before == Turn.OVER) {
      throw new AsynchronousCloseException();
    }
    if (before == Turn.AHEAD || buffered() > 0) {
      resume();
    }
  }

  /**
   * Has a body read by {@code body} in the loop, and waits for its end.
   *
   * @throws IOException what the reading failed with
   */
  void stream(BodyReader body) throws IOException {
    StreamedBody streamed = new StreamedBody(body);
    handTo(streamed);
    await(Turn.LOOP);
    IOException failure = streamed.failure;
    if (failure != null) {
      throw failure;
    }
    if (!streamed.over) {
      throw new AsynchronousCloseException();
    }
  }

  /** The reader of a body in a loop. */
  interface BodyReader {
    /**
     * Reads what has come, once; whether more is awaited.
     *
     * @param piece takes it, and is others' afterwards
     */
    boolean read(byte[] piece) throws IOException;
  }

  private final class StreamedBody implements ChannelReader {
    private final BodyReader body;
    private volatile @Nullable IOException failure;
    private volatile boolean over;

    StreamedBody(BodyReader body) {
      this.body = body;
    }

    @Override
    public ChannelReader.Next read(ChannelReader.Buffers buffers) throws IOException {
      borrow(buffers.input());
      try {
        do {
          if (!body.read(buffers.piece())) {
            return ChannelReader.Next.END;
          }
        } while (buffered() > 0);
        return ChannelReader.Next.MORE;
      } finally {
        giveBack();
      }
    }

    @Override
    public void ended(@Nullable IOException how) {
      failure = how;
      over = true;
    }
  }

  // The loop's thread.

  @Override
  public ChannelReader.Next read(ChannelReader.Buffers buffers) {
    return turn.get() == Turn.LOOP ? readForCall(buffers) : yieldToCall(buffers);
  }

  /** Has the call read. */
  private ChannelReader.Next yieldToCall(ChannelReader.Buffers buffers) {
    while (true) {
      switch (turn()) {
        case IDLE -> {
          return isSpoilt() ? ChannelReader.Next.END : ChannelReader.Next.MORE;
        }
        case CALL -> {
          if (turn.compareAndSet(Turn.CALL, Turn.AHEAD)) {
            return ChannelReader.Next.PAUSE;
          }
        }
        case AWAITED -> {
          if (turn.compareAndSet(Turn.AWAITED, Turn.READABLE)) {
            LockSupport.unpark(waiting);
            return ChannelReader.Next.MORE;
          }
        }
        case READABLE -> {
          if (turn.compareAndSet(Turn.READABLE, Turn.AHEAD)) {
            return ChannelReader.Next.PAUSE;
          }
        }
        case AHEAD -> {
          return ChannelReader.Next.PAUSE;
        }
        case LOOP -> {
          return readForCall(buffers);
        }
        case OVER -> {
          return ChannelReader.Next.END;
        }
      }
    }
  }

  private ChannelReader.Next readForCall(ChannelReader.Buffers buffers) {
    ChannelReader current = reader;
    if (current == null) {
      throw new IllegalStateException("nobody reads for the call");
    }
    IOException failure = null;
    try {
      ChannelReader.Next next = current.read(buffers);
      if (next != ChannelReader.Next.END) {
        return next;
      }
    } catch (IOException e) {
      failure = e;
    }
    // An idle connection does not keep what was read from it.
    reader = null;
    current.ended(failure);
    turn.set(Turn.CALL);
    LockSupport.unpark(waiting);
    return ChannelReader.Next.MORE;
  }

  @Override
  public void ended(@Nullable IOException failure) {
    closeSocket();
    Turn before = turn.getAndSet(Turn.OVER);
    // After that: a reader comes before the turn that is its.
    ChannelReader current = reader;
    if (before == Turn.LOOP && current != null) {
      current.ended(failure == null ? new AsynchronousCloseException() : failure);
    }
    LockSupport.unpark(waiting);
  }
}
