package io.kvasir.cell.worker;

import io.kvasir.cell.CellSettings.StallSettings;
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
 * <p>{@link #progressNanos} is for every piece of every answer: it reads a clock's last value and now and then writes
 * it, with no lock and no order. {@link #check} is the cell's actor's.
 */
public final class StallDetector {
  /** Finer than any silence that matters, and coarse enough that streams do not fight for the cache line. */
  private static final long GRAIN_NANOS = 10_000_000L;

  /** What is booked up to this long after a movement counts as booked then: looks are some time apart. */
  private static final long SETTLING_NANOS = 1_000_000_000L;

  private final StallSettings settings;
  private final ChangeCounter changes;
  private final AtomicInteger streams = new AtomicInteger();

  private final AtomicLong progressNanos;

  private volatile boolean wedged;

  // The actor's.
  private long stalledSince;
  private int inFlightAtProgress;
  private double expectedMs;
  private boolean empty;
  private long emptySince;

  /** A worker that progresses. Changes of whether it is wedged count in {@code revision}. */
  StallDetector(StallSettings settings, long now, ChangeCounter revision) {
    this.settings = settings;
    this.changes = revision;
    this.progressNanos = new AtomicLong(now);
    this.stalledSince = now;
  }

  /** From now on the silence of one more request says something. */
  public void streamStarted() {
    streams.incrementAndGet();
  }

  /** It is over. */
  public void streamEnded() {
    streams.decrementAndGet();
  }

  /** Something came of the worker: a piece of an answer, or events. */
  void progressed(long now) {
    if (now - progressNanos.getOpaque() >= GRAIN_NANOS) {
      progressNanos.setOpaque(now);
    }
  }

  boolean wedged() {
    return wedged;
  }

  /** How long it has stood still, in nanoseconds. */
  long stalledFor(long now) {
    return now - stalledSince;
  }

  /**
   * Looks whether it moves.
   *
   * @param inFlight requests booked on it
   * @param queueMs estimated milliseconds of the prefill booked on it
   */
  public void check(long now, int inFlight, double queueMs) {
    long last = progressNanos.getOpaque();
    boolean none = streams.get() == 0;
    if (last - stalledSince > 0 || (none && !wedged)) {
      stalledSince = none && !wedged ? now : last;
      inFlightAtProgress = inFlight;
      expectedMs = queueMs;
      setWedged(false);
      empty = false;
      return;
    }
    if (none) {
      checkIdle(now);
      return;
    }
    empty = false;
    if (stalledFor(now) <= SETTLING_NANOS) {
      expectedMs = Math.max(expectedMs, queueMs);
    }
    if (inFlight > inFlightAtProgress && stalledFor(now) >= timeoutNanos()) {
      setWedged(true);
    }
  }

  /** Nothing is left on a wedged worker that could show whether it moves. */
  private void checkIdle(long now) {
    if (!empty) {
      empty = true;
      emptySince = now;
    } else if (now - emptySince >= settings.retry().toNanos()) {
      setWedged(false);
    }
  }

  private void setWedged(boolean wedgedNow) {
    if (wedged != wedgedNow) {
      wedged = wedgedNow;
      changes.increment();
    }
  }

  private double timeoutNanos() {
    return Math.clamp(
        settings.prefillFactor() * expectedMs * 1e6,
        (double) settings.silence().toNanos(),
        (double) settings.maxSilence().toNanos());
  }
}
