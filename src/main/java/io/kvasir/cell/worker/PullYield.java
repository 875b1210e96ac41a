package io.kvasir.cell.worker;

import java.util.concurrent.TimeUnit;

/**
 * The share of what was to be pulled from another worker's memory that was found there: of a worker's own pulls and of
 * those of others from it, an exponential average over some eight. What was lost is forgotten by half in {@value
 * #HALF_LIFE_MINUTES} minutes, so that what does not work is tried again. Thread-safe.
 */
public final class PullYield {
  private static final double WEIGHT = 1.0 / 8;
  private static final int HALF_LIFE_MINUTES = 5;
  private static final double HALF_LIFE_NANOS = TimeUnit.MINUTES.toNanos(HALF_LIFE_MINUTES);

  private volatile Lost lost = new Lost(0, 0);

  /** A share that was not found, as it was known at a time. */
  private record Lost(double share, long nanos) {
    double at(long now) {
      return share == 0 ? 0 : share * Math.pow(2, Math.min(0, nanos - now) / HALF_LIFE_NANOS);
    }
  }

  /**
   * An answer has shown what was found.
   *
   * @param expected tokens, at least 1
   * @param found tokens of these
   */
  synchronized void observed(int expected, int found, long now) {
    double before = lost.at(now);
    lost = new Lost(before + WEIGHT * (1 - (double) found / expected - before), now);
  }

  /** The share that may be expected now, 0 to 1. */
  double at(long now) {
    return 1 - lost.at(now);
  }
}
