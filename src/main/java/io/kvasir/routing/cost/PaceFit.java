package io.kvasir.routing.cost;

import java.util.Arrays;

/**
 * One engine's pace and fixed part over its last prompts: {@code TTFT = fixed + pace · (queue + own)}, with the queue
 * and the prompt's own prefill as the deployment's costs have them.
 *
 * <p>Either is a weighted median given the other, found by turns, so that half of the prompts may be arbitrarily late
 * before it is worth nothing. For the pace a prompt's weight is the square of its own share in what was predicted,
 * since the progress of the queue before it is not known; for the fixed part that of the fixed part's share. So long
 * prompts tell the one and short ones the other; where all are of one length, the engine takes as many times as long
 * for both.
 *
 * <p>The prompts are kept and not what came of them: costs change while they are learnt, and an engine that is seldom
 * used has prompts of long ago. Not thread-safe.
 */
final class PaceFit {
  private static final int ROUNDS = 3;

  /** Prompts as which the deployment's fixed part counts. */
  private static final double PRIOR = 1;

  private final double[] tokens;
  private final double[] pairs;
  private final double[] queueMs;
  private final double[] ttftMs;
  private final double[] values;
  private final double[] weights;
  private final long[] order;
  private long samples;
  private double weight;

  /** An empty window of so many samples. */
  PaceFit(int window) {
    this.tokens = new double[window];
    this.pairs = new double[window];
    this.queueMs = new double[window];
    this.ttftMs = new double[window];
    this.values = new double[window + 1];
    this.weights = new double[window + 1];
    this.order = new long[window + 1];
  }

  /** Adds a prompt, with the queue before it as an engine of the deployment's own pace would have read it. */
  void add(PrefillSample prefill, double pacelessQueueMs) {
    int at = (int) (samples++ % ttftMs.length);
    tokens[at] = prefill.uncachedTokens();
    pairs[at] = EngineCost.prefillMs(0, 1, prefill.uncachedTokens(), prefill.promptTokens());
    queueMs[at] = pacelessQueueMs;
    ttftMs[at] = prefill.ttftMs();
  }

  long samples() {
    return samples;
  }

  /** How many prompts that were computed alone and without a fixed part would say as much as the last pace has heard. */
  double weight() {
    return weight;
  }

  /** The pace by the deployment's costs; 1 without samples. */
  double pace(LearntCost costs) {
    int count = (int) Math.min(samples, ttftMs.length);
    for (int i = 0; i < count; i++) {
      double own = ownMs(i, costs);
      double predicted = costs.fixedMs() + queueMs[i] + own;
      values[i] = ttftMs[i] / predicted;
      weights[i] = own / predicted * (own / predicted);
    }
    double pace = median(count);
    double fixedMs = costs.fixedMs() * pace;
    double prior = fixedMs;
    for (int round = 0; round < ROUNDS; round++) {
      for (int i = 0; i < count; i++) {
        double own = ownMs(i, costs);
        double share = fixedMs / (fixedMs + pace * (queueMs[i] + own));
        values[i] = Math.max(0, ttftMs[i] - pace * (queueMs[i] + own));
        weights[i] = share * share;
      }
      values[count] = prior;
      weights[count] = PRIOR;
      fixedMs = median(count + 1);
      weight = 0;
      for (int i = 0; i < count; i++) {
        double own = ownMs(i, costs);
        double share = pace * own / (fixedMs + pace * (queueMs[i] + own));
        values[i] = Math.max(0, ttftMs[i] - fixedMs) / (queueMs[i] + own);
        weights[i] = share * share;
        weight += weights[i];
      }
      pace = median(count);
    }
    return pace;
  }

  private double ownMs(int i, LearntCost costs) {
    return costs.cost().msPerToken() * tokens[i] + costs.cost().msPerPair() * pairs[i];
  }

  private double median(int count) {
    double half = 0;
    for (int i = 0; i < count; i++) {
      // Floats that are not negative sort as their bits do; the position goes with them.
      order[i] = (long) Float.floatToIntBits((float) values[i]) << Integer.SIZE | i;
      half += weights[i] / 2;
    }
    Arrays.sort(order, 0, count);
    for (int i = 0; i < count; i++) {
      int at = (int) order[i];
      half -= weights[at];
      if (half <= 0) {
        return values[at];
      }
    }
    return 1;
  }
}
