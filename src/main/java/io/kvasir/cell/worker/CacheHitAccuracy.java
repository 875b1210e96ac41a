package io.kvasir.cell.worker;

import io.kvasir.cell.CellSettings.AccuracySettings;
import io.kvasir.cell.WorkerStatus;

/**
 * The accuracy of a worker's index, measured by the engine's own answers: each reports how many tokens of its
 * prompt were cached, and that is compared with what the index had predicted.
 *
 * <p>Only misses count: that an engine found more is no harm (it may have a cache without events), and that it found a
 * little less happens. Blocks that it evicted while a request waited, and reported as evicted, are no miss. The measure
 * is the share of wrong answers among the last ones for which a hit was predicted, so one answer that is far off counts
 * no more than any other. While that share is too high the worker is not trusted: the hits that the index predicts are
 * scaled by the part that was found. It is then due to be resynchronised, the first time at once, afterwards after
 * pauses that double until the index has been right for as many answers as the share is taken over.
 *
 * <p>Thread-safe; time comes in, in nanoseconds.
 */
public final class CacheHitAccuracy {
  /** Answers before there is a verdict. */
  private static final int MIN_ANSWERS = 8;

  private final AccuracySettings settings;
  private final ChangeCounter changes;
  private final int[] expected;
  private final int[] found;
  private final boolean[] wrong;
  private int count;
  private int at;
  private int wrongCount;
  private long expectedSum;
  private long foundSum;
  private long pauseNanos;
  private boolean paused;
  private long pausedUntil;
  private volatile double trust = 1;
  private volatile int resyncs;
  private volatile WorkerStatus.Promises promises = WorkerStatus.Promises.NONE;

  /** Without any answers yet. Changes of the trust count in {@code revision}. */
  CacheHitAccuracy(AccuracySettings settings, ChangeCounter revision) {
    this.settings = settings;
    this.changes = revision;
    this.expected = new int[settings.answers()];
    this.found = new int[settings.answers()];
    this.wrong = new boolean[settings.answers()];
    this.pauseNanos = settings.pause().toNanos();
  }

  /**
   * Records an answer; returns whether it counts as a miss.
   *
   * @param promisedTokens at least 1
   * @param foundTokens what the engine reported
   * @param blockSize a difference of one block is none
   */
  synchronized boolean record(int promisedTokens, int foundTokens, int blockSize) {
    if (count == wrong.length) {
      expectedSum -= expected[at];
      foundSum -= found[at];
      wrongCount -= wrong[at] ? 1 : 0;
    } else {
      count++;
    }
    boolean broken =
        promisedTokens - foundTokens > Math.max(blockSize, settings.tolerance() * promisedTokens);
    promises = new WorkerStatus.Promises(promises.kept() + (broken ? 0 : 1), promises.broken() + (broken ? 1 : 0));
    expected[at] = promisedTokens;
    found[at] = Math.min(promisedTokens, foundTokens);
    wrong[at] = broken;
    expectedSum += expected[at];
    foundSum += found[at];
    wrongCount += broken ? 1 : 0;
    at = (at + 1) % wrong.length;
    boolean lies = count >= MIN_ANSWERS && wrongCount >= settings.wrongShare() * count && wrongCount > 0;
    trust(lies ? (double) foundSum / expectedSum : 1);
    if (!lies && count == wrong.length) {
      pauseNanos = settings.pause().toNanos();
    }
    return broken;
  }

  /** What the index's word on the worker is worth, 0 to 1; 1 while it is right. */
  public double trust() {
    return trust;
  }

  /** How its answers compared since it joined. */
  WorkerStatus.Promises promises() {
    return promises;
  }

  /** How often the worker was due. */
  int resyncs() {
    return resyncs;
  }

  /**
   * Whether the worker is due to be resynchronised, which the caller then does; earlier answers count no more.
   */
  public synchronized boolean takeDue(long now) {
    if (trust == 1 || (paused && now - pausedUntil < 0)) {
      return false;
    }
    paused = true;
    pausedUntil = now + pauseNanos;
    pauseNanos = Math.min(2 * pauseNanos, settings.longestPause().toNanos());
    resyncs++;
    count = 0;
    at = 0;
    wrongCount = 0;
    expectedSum = 0;
    foundSum = 0;
    trust(1);
    return true;
  }

  private void trust(double now) {
    if (trust != now) {
      trust = now;
      changes.increment();
    }
  }
}
