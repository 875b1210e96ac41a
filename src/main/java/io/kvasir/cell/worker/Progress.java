package io.kvasir.cell.worker;

import io.kvasir.cell.CellSettings.WedgeSettings;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Whether a worker moves. It is wedged when streams are open on it, none of them has brought anything for some
 * seconds, and it was given more since it last moved: its server may still answer probes while its engine stands
 * still. It then gets nothing new until it moves, or, if all of its requests have left, until it is given another try.
 *
 * <p>Silence counts only against streams, for an answer that comes whole is silent until its end. Prompts take time
 * before the first token: what was booked when the worker last moved is waited for, within bounds. What comes later
 * does not prolong the wait, or a worker that is given more all the time would never be found out.
 *
 * <p>{@link #moved} is for every piece of every answer: it reads a clock's last value and now and then writes it,
 * with no lock and no order. {@link #look} is the cell's actor's.
 */
public final class Progress {
  /** Finer than any silence that matters, and coarse enough that streams do not fight for the cache line. */
  private static final long GRAIN_NANOS = 10_000_000L;

  /** What is booked up to this long after a movement counts as booked then: looks are some time apart. */
  private static final long SETTLING_NANOS = 1_000_000_000L;

  private final WedgeSettings settings;
  private final Revision revision;
  private final AtomicInteger streams = new AtomicInteger();

  private final AtomicLong moved;

  private volatile boolean wedged;

  // The actor's.
  private long stillSince;
  private int inFlightThen;
  private double expectedMs;
  private boolean empty;
  private long emptySince;

  /** Progress from now on. Whether it is wedged is told to {@code revision}. */
  Progress(WedgeSettings settings, long now, Revision revision) {
    this.settings = settings;
    this.revision = revision;
    this.moved = new AtomicLong(now);
    this.stillSince = now;
  }

  /** From now on the silence of one more request says something. */
  public void streamBegun() {
    streams.incrementAndGet();
  }

  /** It is over. */
  public void streamEnded() {
    streams.decrementAndGet();
  }

  /** Something came of the worker: a piece of an answer, or events. */
  void moved(long now) {
    if (now - moved.getOpaque() >= GRAIN_NANOS) {
      moved.setOpaque(now);
    }
  }

  boolean wedged() {
    return wedged;
  }

  /** How long it has stood still, in nanoseconds. */
  long stillFor(long now) {
    return now - stillSince;
  }

  /**
   * Looks whether it moves.
   *
   * @param inFlight requests booked on it
   * @param queueMs estimated milliseconds of the prefill booked on it
   */
  public void look(long now, int inFlight, double queueMs) {
    long last = moved.getOpaque();
    boolean none = streams.get() == 0;
    if (last - stillSince > 0 || (none && !wedged)) {
      stillSince = none && !wedged ? now : last;
      inFlightThen = inFlight;
      expectedMs = queueMs;
      become(false);
      empty = false;
      return;
    }
    if (none) {
      leftAlone(now);
      return;
    }
    empty = false;
    if (stillFor(now) <= SETTLING_NANOS) {
      expectedMs = Math.max(expectedMs, queueMs);
    }
    if (inFlight > inFlightThen && stillFor(now) >= patienceNanos()) {
      become(true);
    }
  }

  /** Nothing is left on a wedged worker that could show whether it moves. */
  private void leftAlone(long now) {
    if (!empty) {
      empty = true;
      emptySince = now;
    } else if (now - emptySince >= settings.retry().toNanos()) {
      become(false);
    }
  }

  private void become(boolean wedgedNow) {
    if (wedged != wedgedNow) {
      wedged = wedgedNow;
      revision.changed();
    }
  }

  private double patienceNanos() {
    return Math.clamp(
        settings.prefillFactor() * expectedMs * 1e6,
        (double) settings.silence().toNanos(),
        (double) settings.longest().toNanos());
  }
}
