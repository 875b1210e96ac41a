package io.kvasir.routing.cost;

import java.util.Arrays;

/**
 * A window of one engine's prompts, and how many times as long as predicted they took to their first tokens: the
 * weighted median, so that half of them may be arbitrarily late before it is worth nothing. A prompt's weight is the
 * square of its own share in what was predicted, since the progress of the queue before it is not known, nor the fixed
 * part of a short one. The prompts are kept and not their ratios: what is predicted changes while it is learnt, and an
 * engine that is seldom used has prompts of long ago. Not thread-safe.
 */
final class PaceFit {
  private final double[] tokens;
  private final double[] pairs;
  private final double[] queueMs;
  private final double[] ttftMs;
  private final double[] ratios;
  private final double[] weights;
  private final long[] order;
  private long samples;

  /** An empty window of so many samples. */
  PaceFit(int window) {
    this.tokens = new double[window];
    this.pairs = new double[window];
    this.queueMs = new double[window];
    this.ttftMs = new double[window];
    this.ratios = new double[window];
    this.weights = new double[window];
    this.order = new long[window];
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

  /** The weighted median of the times to first token in multiples of what {@code costs} predict; 1 without samples. */
  double median(LearntCost costs) {
    int count = (int) Math.min(samples, ttftMs.length);
    double half = 0;
    for (int i = 0; i < count; i++) {
      double ownMs = costs.cost().msPerToken() * tokens[i] + costs.cost().msPerPair() * pairs[i];
      double predictedMs = costs.fixedMs() + queueMs[i] + ownMs;
      double share = ownMs / predictedMs;
      ratios[i] = ttftMs[i] / predictedMs;
      weights[i] = share * share;
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
