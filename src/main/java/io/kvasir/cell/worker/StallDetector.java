package io.kvasir.cell.worker;

import io.kvasir.cell.CellSettings.StallSettings;
import io.kvasir.cell.EngineReport;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Detects workers that make no progress. A worker is wedged when streams, or prompts that it reads for others, are open
 * on it, none of them has delivered anything for some seconds, and it got more requests since its last progress: its
 * server may still answer probes while its engine hangs. It then gets nothing new until it progresses. What shows that
 * when all of its requests have ended is a canary, a request of the cell's own that waits there; without one it is
 * tried with a client's request now and then, and gets nothing else until something has come of that.
 *
 * <p>Silence counts only against these, for an answer that comes whole is silent until its end, and a stream may be
 * while its engine holds back what it generates. But what is computed takes more and more of the KV cache: where an
 * engine has been seen to report that, and neither its requests nor its reports have moved for much longer than they
 * ever paused before, the worker is wedged also when it has whole answers only, and when it was given nothing more.
 *
 * <p>Prompts take time before the first token: the timeout grows with what was booked at the last progress, within
 * bounds. Later bookings do not prolong it, or a worker that gets more all the time would never be detected.
 *
 * <p>{@link #progressNanos} is for every piece of every answer: it reads a clock's last value and now and then writes
 * it, with no lock and no order. {@link #check} is the cell's actor's.
 */
public final class StallDetector {
  /** Finer than any silence that matters, and coarse enough that streams do not fight for the cache line. */
  private static final long GRAIN_NANOS = 10_000_000L;

  /** What is booked up to this long after progress counts as booked then: checks are some time apart. */
  private static final long SETTLING_NANOS = 1_000_000_000L;

  /** Each trial that fails doubles the time to the next one, so many times: whoever is tried pays with a long wait. */
  private static final int MOST_DOUBLINGS = 3;

  /** Slow engines with large blocks report a change now and then: what is so many times their longest pause is none. */
  private static final int LONGEST_PAUSES = 3;

  private final StallSettings settings;
  private final ChangeCounter changes;
  private final AtomicInteger streams = new AtomicInteger();
  private final AtomicInteger answers = new AtomicInteger();

  private final AtomicLong progressNanos;

  private volatile boolean wedged;
  /** Whether the next request is the only one it gets. */
  private volatile boolean onTrial;

  // The actor's.
  private boolean canaryWaits;
  /** Whether its engine's reports change as it computes: not where the cache of a model is always as large. */
  private boolean reportsMove;
  /** Between two such changes, in nanoseconds; bounded, or a hang that ended would hide the next. */
  private long longestPause;
  private long stalledSince;
  private int inFlightAtProgress;
  private double expectedMs;
  private boolean empty;
  private long emptySince;
  /** Trials since its last progress. */
  private int trials;

  /** A worker that progresses. Changes of whether it is wedged count in {@code revision}. */
  StallDetector(StallSettings settings, long now, ChangeCounter revision) {
    this.settings = settings;
    this.changes = revision;
    this.progressNanos = new AtomicLong(now);
    this.stalledSince = now;
  }

  /** One more stream is open, whose silence counts from now on. */
  public void streamStarted() {
    streams.incrementAndGet();
    tried();
  }

  /** A stream has ended. */
  public void streamEnded() {
    streams.decrementAndGet();
  }

  /** It computes one more prompt whose answer comes whole: not one that waits for KV blocks of another worker. */
  public void answerStarted() {
    answers.incrementAndGet();
    tried();
  }

  /** An answer that comes whole has come, or never will. */
  public void answerEnded() {
    answers.decrementAndGet();
  }

  private void tried() {
    if (onTrial) {
      onTrial = false;
      setWedged(true);
    }
  }

  /** The worker delivered something: a piece of an answer, or events. */
  void progressed(long now) {
    if (now - progressNanos.getOpaque() >= GRAIN_NANOS) {
      progressNanos.setOpaque(now);
    }
  }

  /** A canary waits at it, a request of the cell's own. Called by the cell's actor alone. */
  public void canarySent() {
    canaryWaits = true;
  }

  /**
   * Its canary waits no more. Called by the cell's actor alone.
   *
   * @param answered whether it generated what it was to
   */
  public void canaryEnded(boolean answered, long now) {
    canaryWaits = false;
    if (answered) {
      progressed(now);
    }
  }

  /**
   * Its engine has reported its load. Called by the cell's actor alone.
   *
   * @param before its report before, {@link EngineReport#NONE} where that was too old
   */
  void reported(EngineReport before, EngineReport report, long now) {
    if (before.equals(EngineReport.NONE)) {
      return;
    }
    boolean more = report.kvUse() > before.kvUse();
    if (more && before.running() == report.running() && before.waiting() == report.waiting()) {
      if (reportsMove) {
        longestPause = Math.max(longestPause, Math.min(silence(now), settings.maxSilence().toNanos()));
      }
      reportsMove = true;
    }
    // Less may be what clients have taken back, and what waits is not computed.
    if (more || report.running() > before.running()) {
      progressed(now);
    }
  }

  /** Time since the worker last delivered something, in nanoseconds, whether or not it has requests. */
  public long silence(long now) {
    return now - progressNanos.getOpaque();
  }

  /** Whether it gets nothing because it stands still. */
  public boolean wedged() {
    return wedged;
  }

  /** Time since its last progress, in nanoseconds. */
  long stalledFor(long now) {
    return now - stalledSince;
  }

  /**
   * Checks whether it progresses.
   *
   * @param inFlight requests booked on it
   * @param queueMs estimated milliseconds of the prefill booked on it
   */
  public void check(long now, int inFlight, double queueMs) {
    long last = progressNanos.getOpaque();
    boolean none = streams.get() == 0;
    boolean awaited = canaryWaits || !none || (reportsMove && answers.get() > 0) || (trials > 0 && inFlight > 0);
    boolean atRest = !awaited && !wedged && trials == 0;
    if (last - stalledSince > 0 || atRest) {
      stalledSince = atRest ? now : last;
      inFlightAtProgress = inFlight;
      expectedMs = queueMs;
      setWedged(false);
      empty = false;
      trials = 0;
      onTrial = false;
      return;
    }
    if (!awaited) {
      checkIdle(now);
      return;
    }
    empty = false;
    if (trials > 0) {
      setWedged(true);
      return;
    }
    if (stalledFor(now) <= SETTLING_NANOS) {
      expectedMs = Math.max(expectedMs, queueMs);
    }
    boolean givenMore = !none && inFlight > inFlightAtProgress && stalledFor(now) >= longestSilence(expectedMs);
    long standstill = Math.max(settings.standstill().toNanos(), LONGEST_PAUSES * longestPause);
    if (givenMore || (reportsMove && stalledFor(now) >= standstill)) {
      setWedged(true);
    }
  }

  /** Nothing is left on a wedged worker that could show whether it moves. */
  private void checkIdle(long now) {
    if (!empty) {
      empty = true;
      emptySince = now;
    } else if (wedged && now - emptySince >= settings.retry().toNanos() << Math.min(trials, MOST_DOUBLINGS)) {
      trials++;
      onTrial = true;
      setWedged(false);
    }
  }

  private void setWedged(boolean wedgedNow) {
    if (wedged != wedgedNow) {
      wedged = wedgedNow;
      changes.increment();
    }
  }

  /**
   * How long a worker may take for prompts before it counts as stalled, in nanoseconds.
   *
   * @param prefillMs estimated milliseconds of them
   */
  public long longestSilence(double prefillMs) {
    return (long) Math.clamp(
        settings.prefillFactor() * prefillMs * 1e6,
        (double) settings.silence().toNanos(),
        (double) settings.maxSilence().toNanos());
  }
}
