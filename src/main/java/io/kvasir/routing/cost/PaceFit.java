package io.kvasir.routing.cost;

import java.util.Arrays;

/**
 * A window of times to first token in multiples of what was predicted, and their weighted median: half of the prompts
 * may be arbitrarily late before it is worth nothing. A prompt's weight is the square of its own share in what was
 * predicted, since the progress of the queue before it is not known, and so the fixed part of a short one. Not
 * thread-safe.
 */
final class PaceFit {
  private final double[] ratios;
  private final double[] weights;
  private final long[] order;
  private long samples;

  /** An empty window of so many samples. */
  PaceFit(int window) {
    this.ratios = new double[window];
    this.weights = new double[window];
    this.order = new long[window];
  }

  void add(double ratio, double weight) {
    int at = (int) (samples++ % ratios.length);
    ratios[at] = ratio;
    weights[at] = weight;
  }

  long samples() {
    return samples;
  }

  /** The weighted median; 1 without samples. */
  double median() {
    int count = (int) Math.min(samples, ratios.length);
    double half = 0;
    for (int i = 0; i < count; i++) {
      // Positive floats sort as their bits do; the position goes with them.
      order[i] = (long) Float.floatToIntBits((float) ratios[i]) << Integer.SIZE | i;
      half += weights[i] / 2;
    }
    Arrays.sort(order, 0, count);
    for (int i = 0; i < count; i++) {
      int at = (int) order[i];
      half -= weights[at];
      if (half <= 0) {
        return ratios[at];
      }
    }
    return 1;
  }
}
