package io.kvasir.lab;

import java.util.Arrays;

/**
 * The distribution of measured times, in milliseconds; NaN where nothing was measured.
 *
 * @param mean arithmetic mean
 * @param p50 median
 * @param p90 90th percentile
 * @param p99 99th percentile
 */
public record Latency(double mean, double p50, double p90, double p99) {
  /** The distribution of the first {@code count} times, in any order; percentiles are interpolated. */
  static Latency of(double[] times, int count) {
    double[] sorted = Arrays.copyOf(times, count);
    Arrays.sort(sorted);
    return new Latency(
        Arrays.stream(sorted).average().orElse(Double.NaN),
        percentile(sorted, 0.50),
        percentile(sorted, 0.90),
        percentile(sorted, 0.99));
  }

  /** The value that a share of the sorted ones is at most; interpolated, NaN of none. */
  static double percentile(double[] sorted, double share) {
    if (sorted.length == 0) {
      return Double.NaN;
    }
    double at = share * (sorted.length - 1);
    int below = (int) at;
    double above = sorted[Math.min(below + 1, sorted.length - 1)];
    return sorted[below] + (at - below) * (above - sorted[below]);
  }
}
