package io.kvasir.lab;

import java.util.Arrays;

/**
 * What a number of measured times come to, in milliseconds; not a number where nothing was measured.
 *
 * @param mean arithmetic mean
 * @param p50 median
 * @param p90 the time that nine of ten stay below
 * @param p99 the time that 99 of 100 stay below
 */
public record Latency(double mean, double p50, double p90, double p99) {
  /** Of the first {@code count} times, in any order; percentiles between two times are interpolated. */
  static Latency of(double[] times, int count) {
    double[] sorted = Arrays.copyOf(times, count);
    Arrays.sort(sorted);
    return new Latency(
        Arrays.stream(sorted).average().orElse(Double.NaN),
        percentile(sorted, 0.50),
        percentile(sorted, 0.90),
        percentile(sorted, 0.99));
  }

  private static double percentile(double[] sorted, double share) {
    if (sorted.length == 0) {
      return Double.NaN;
    }
    double at = share * (sorted.length - 1);
    int below = (int) at;
    double above = sorted[Math.min(below + 1, sorted.length - 1)];
    return sorted[below] + (at - below) * (above - sorted[below]);
  }
}
