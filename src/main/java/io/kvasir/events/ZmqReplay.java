package io.kvasir.events;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One round of replay: a DEALER that sends {@code ["", from]} to the engine's ROUTER and takes every message
 * from that number on until the end mark, or until nothing comes any more (the mark is lost when
 * the engine's pipe is full). A socket per round: its pipe is empty, so the first thousand messages get through,
 * and late replies to an earlier round are never taken for this one's. Receiving is unlimited, since a full pipe
 * makes the engine drop.
 *
 * <p>Replies are read from their end, {@code …, number, payload}: newer engines put the topic before them.
 * Belongs to a loop's thread.
 */
final class ZmqReplay implements ZmqChannel.FrameHandler, ZmqLoop.Replay {
  /**
   * Silence after a message that ends a round. An engine sends what it has in one go and drops what its pipe has no
   * room for, the mark included: every thousand messages would take as long as an engine that is slow to begin.
   */
  private static final long LONGEST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(300);

  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  private final ZmqLoop loop;
  private final String endpoint;
  private final byte[] request;
  private final long idleNanos;
  private final long firstNanos;
  private final long pauseNanos;
  private final ReplayOutput output;
  private @Nullable ZmqChannel channel;
  private boolean paused;
  private boolean open;
  private volatile boolean reached;
  private boolean answered;
  private long began;
  private long deadline;

  /** The receiver of a round's messages. */
  interface ReplayOutput {
    /** Whether a replayed message may come now. */
    boolean acceptsReplay();

    void replayed(ZmqReplay round, long sequence, byte[] payload);

    /** The round is over; {@code marked} when the engine sent the end mark. */
    void replayEnded(ZmqReplay round, boolean marked);

    /** The round is over, and there was no connection to the engine in it. */
    void replayUnreached(ZmqReplay round);

    /** The round could not begin, such as for want of file descriptors; it holds nothing but its place in the loop. */
    void replayUnopened(ZmqReplay round, RuntimeException why);

    /** The round cannot go on. */
    void failed(RuntimeException why);
  }

  ZmqReplay(ZmqLoop loop, String endpoint, long from, long idleNanos, ReplayOutput output) {
    this(loop, endpoint, number(from), idleNanos, idleNanos, Math.min(idleNanos, LONGEST_PAUSE_NANOS), output);
  }

  /**
   * A round that asks for something else than a number, and is answered in the same way.
   *
   * @param firstNanos how long the engine may take for its first message once it is reached; at least idleNanos
   * @param pauseNanos and how long for each further one
   */
  ZmqReplay(
      ZmqLoop loop, String endpoint, byte[] request, long idleNanos, long firstNanos, long pauseNanos,
      ReplayOutput output) {
    this.loop = loop;
    this.endpoint = endpoint;
    this.request = request;
    this.idleNanos = idleNanos;
    this.firstNanos = firstNanos;
    this.pauseNanos = pauseNanos;
    this.output = output;
  }

  private static byte[] number(long from) {
    byte[] number = new byte[Long.BYTES];
    LONG.set(number, 0, from);
    return number;
  }

  @Override
  public void open() {
    try {
      channel = loop.request(endpoint, request, this, () -> reached = true);
      began = loop.clock().nanos();
      deadline = began + idleNanos;
      open = true;
    } catch (RuntimeException failed) {
      // Not at once: another subscription's round may have ended just now and made this one begin.
      loop.execute(() -> output.replayUnopened(this, failed), output::failed);
    }
  }

  @Override
  public void close() {
    if (channel != null) {
      loop.close(channel);
      channel = null;
    }
  }

  /** Whether a message may come; while none may, silence does not end the round. */
  @Override
  public boolean ready() {
    paused = !output.acceptsReplay();
    return !paused;
  }

  void resume() {
    if (paused && channel != null) {
      paused = false;
      deadline = loop.clock().nanos() + (answered ? pauseNanos : idleNanos);
      loop.resume(channel);
    }
  }

  @Override
  public long nanosLeft(long now) {
    return paused || !open ? Long.MAX_VALUE : deadline - now;
  }

  @Override
  public void timedOut() {
    if (reached && !answered && deadline - began < firstNanos) {
      deadline = began + firstNanos;
    } else if (reached) {
      output.replayEnded(this, false);
    } else {
      output.replayUnreached(this);
    }
  }

  @Override
  public void message(byte[][] frames, int count) {
    reached = true;
    answered = true;
    deadline = loop.clock().nanos() + pauseNanos;
    if (count < 2 || count > frames.length || frames[count - 2].length != Long.BYTES) {
      loop.metrics().misframed();
      return;
    }
    byte[] payload = frames[count - 1];
    if (payload.length == 0) {
      output.replayEnded(this, true);
    } else {
      output.replayed(this, (long) LONG.get(frames[count - 2], 0), payload);
    }
  }

  @Override
  public void failed(RuntimeException why) {
    output.failed(why);
  }
}
