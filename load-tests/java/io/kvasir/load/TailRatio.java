package io.kvasir.load;

import java.util.Arrays;
import java.util.SplittableRandom;

/**
 * How many times as long the slowest requests take under one load as under another, and between what that lies: the
 * middle 90 % of what {@value #RESAMPLES} resamples of the same requests say (the bootstrap, Efron 1979).
 *
 * @param ratio of the quantiles of both
 * @param low that it is above in 95 of 100 resamples
 * @param high that it is below in 95 of 100 resamples
 */
record TailRatio(double ratio, double low, double high) {
  private static final int RESAMPLES = 2_000;
  private static final double OUTSIDE = 0.05;

  /**
   * Compares times.
   *
   * @param share the quantile, 0 to 1
   * @param usual those that the others are measured by, at least one
   * @param others at least one
   */
  static TailRatio of(double share, double[] usual, double[] others) {
    SplittableRandom random = new SplittableRandom(1);
    double[] ratios = new double[RESAMPLES];
    for (int i = 0; i < RESAMPLES; i++) {
      ratios[i] = quantile(resampled(others, random), share) / quantile(resampled(usual, random), share);
    }
    return new TailRatio(
        quantile(others, share) / quantile(usual, share), quantile(ratios, OUTSIDE), quantile(ratios, 1 - OUTSIDE));
  }

  /** What is to be thought of it being at most so much. */
  String verdict(double most) {
    return high <= most ? "shown" : low > most ? "refuted" : "neither shown nor refuted";
  }

  private static double[] resampled(double[] values, SplittableRandom random) {
    return random.ints(values.length, 0, values.length).mapToDouble(i -> values[i]).toArray();
  }

  /** Of values in any order; NaN of none. */
  static double quantile(double[] values, double share) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted.length == 0 ? Double.NaN : sorted[(int) Math.min(sorted.length - 1, share * sorted.length)];
  }
}
