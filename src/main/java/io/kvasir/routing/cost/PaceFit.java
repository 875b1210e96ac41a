package io.kvasir.routing.cost;

import java.util.Arrays;

/**
 * How one engine does over its last prompts, beside what its deployment's costs predict: {@code TTFT = fixed + pace ·
 * (queue + own)}, with an engine's own fixed part and pace.
 *
 * <p>Either is the weighted median of what the prompts say given the other, found by turns, so that half of the prompts
 * may be arbitrarily late before it is worth nothing. For the pace a prompt's weight is the square of its own share in
 * the total: how far the queue before it had got is not known. For the fixed part it is the square of that one's share.
 * So long prompts tell the pace and short ones the fixed part; without short ones an engine takes as many times as long
 * for the one as for the other.
 *
 * <p>The prompts are kept and not what they said: costs change while they are learnt, and the prompts of an engine that
 * is seldom used are old. Not thread-safe.
 */
final class PaceFit {
  /** They converge as a geometric series: the slower, the more alike the prompts' lengths are. */
  private static final int TURNS = 4;

  /** Prompts as which a fixed part counts that is in proportion to the pace. */
  private static final double PROPORTIONAL_WEIGHT = 1;

  /** Where prompts were faster than their fixed part. */
  private static final double MIN_PACE = 1e-3;

  private final int window;
  private final double[] tokens;
  private final double[] pairs;
  private final double[] queueMs;
  private final double[] ttftMs;
  private final double[] ownMs;

  // What the prompts say, the last place is for what is said without them.
  private final double[] values;
  private final double[] weights;
  private final long[] order;

  private long samples;
  private double pace = 1;
  private double weight;

  /** A fit to the last {@code window} prompts, without any. */
  PaceFit(int window) {
    this.window = window;
    this.tokens = new double[window];
    this.pairs = new double[window];
    this.queueMs = new double[window];
    this.ttftMs = new double[window];
    this.ownMs = new double[window];
    this.values = new double[window + 1];
    this.weights = new double[window + 1];
    this.order = new long[window + 1];
  }

  /** Adds a prompt, with the queue before it as an engine of the deployment's own pace would have read it. */
  void add(PrefillSample prefill, double pacelessQueueMs) {
    int at = (int) (samples++ % window);
    tokens[at] = prefill.uncachedTokens();
    pairs[at] = EngineCost.prefillMs(0, 1, prefill.uncachedTokens(), prefill.promptTokens());
    queueMs[at] = pacelessQueueMs;
    ttftMs[at] = prefill.ttftMs();
  }

  /** The number of prompts there have been. */
  long samples() {
    return samples;
  }

  /** The pace of the last fit, in multiples of what the costs predicted. */
  double pace() {
    return pace;
  }

  /** What the last fit is worth, in prompts: one that was computed alone and had no fixed part counts as 1. */
  double weight() {
    return weight;
  }

  /** Fits the window to the deployment's costs. */
  void fit(LearntCost costs) {
    int count = (int) Math.min(samples, window);
    for (int i = 0; i < count; i++) {
      ownMs[i] = costs.cost().msPerToken() * tokens[i] + costs.cost().msPerPair() * pairs[i];
      double predictedMs = costs.fixedMs() + queueMs[i] + ownMs[i];
      values[i] = ttftMs[i] / predictedMs;
      weights[i] = square(ownMs[i] / predictedMs);
    }
    pace = Math.max(MIN_PACE, median(count));
    double fixedMs = pace * costs.fixedMs();
    double proportionalMs = fixedMs;
    for (int turn = 0; turn < TURNS; turn++) {
      for (int i = 0; i < count; i++) {
        double pacedMs = pace * (queueMs[i] + ownMs[i]);
        values[i] = Math.max(0, ttftMs[i] - pacedMs);
        weights[i] = square(fixedMs / (fixedMs + pacedMs));
      }
      values[count] = proportionalMs;
      weights[count] = PROPORTIONAL_WEIGHT;
      fixedMs = median(count + 1);
      weight = 0;
      for (int i = 0; i < count; i++) {
        double pacedMs = pace * (queueMs[i] + ownMs[i]);
        values[i] = Math.max(0, ttftMs[i] - fixedMs) / (queueMs[i] + ownMs[i]);
        weights[i] = square(pace * ownMs[i] / (fixedMs + pacedMs));
        weight += weights[i];
      }
      pace = Math.max(MIN_PACE, median(count));
    }
  }

  private static double square(double number) {
    return number * number;
  }

  /** The weighted median of the first {@code count} values. */
  private double median(int count) {
    double half = 0;
    for (int i = 0; i < count; i++) {
      // Floats that are not negative sort as their bits do; the position goes with them.
      order[i] = (long) Float.floatToIntBits((float) values[i]) << Integer.SIZE | i;
      half += weights[i] / 2;
    }
    Arrays.sort(order, 0, count);
    int at = 0;
    for (int i = 0; i < count && (half > 0 || i == 0); i++) {
      at = (int) order[i];
      half -= weights[at];
    }
    return values[at];
  }
}
