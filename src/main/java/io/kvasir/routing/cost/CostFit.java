package io.kvasir.routing.cost;

import java.util.Arrays;

/**
 * Learns one deployment's coefficients from the times its last {@value #WINDOW} prompts took to their first token.
 *
 * <p>The model is {@code TTFT = fixed + queue + a·msPerToken·u + b·msPerPair·u·(n − u/2)}, with the coefficients the
 * deployment began with and the factors {@code a} and {@code b} to be found: least squares over residuals relative to
 * the prediction, so that a short prompt says as much as a long one. What makes it robust:
 *
 * <ul>
 *   <li>Contention only ever adds to a TTFT, and some requests hang. A residual beyond {@value #OUTLYING} times the
 *       median one counts by its sign and no longer by its size: Huber's weights, found by reweighting the whole window
 *       a few times. A tenth of the prompts may be arbitrarily late and move the fit by a few percent.
 *   <li>The queue is known by its estimate, and how far its first prompt has come is not. A prompt counts by the square
 *       of its own share of what was waited for: with an idle engine fully, behind four times its own work a
 *       twenty-fifth.
 *   <li>Prompts of about one length do not tell tokens from pairs. The fit is drawn to what it began with by the weight
 *       of {@value #BELIEF} prompts, and {@code b} to {@code a} by that of {@value #SHAPE}: without evidence to the
 *       contrary an engine is slower or faster in both.
 *   <li>The factors stay within 1/{@value #MOST_FACTOR} and {@value #MOST_FACTOR}, whatever is observed.
 * </ul>
 *
 * <p>Writers take a lock, for some microseconds where the fit is made anew; readers see the last one without.
 *
 * <p>P. J. Huber, "Robust Estimation of a Location Parameter", 1964.
 */
final class CostFit {
  private static final int WINDOW = 256;

  /** With a window well filled one prompt changes little: the fit is made anew with every so many. */
  private static final int REFIT = 8;

  private static final int REWEIGHTINGS = 4;
  private static final int SWEEPS = 32;
  private static final double OUTLYING = 1.5;
  private static final double LEAST_TYPICAL = 0.05;
  private static final double BELIEF = 1;
  private static final double SHAPE = 1;
  private static final double MOST_FACTOR = 16;

  /** Milliseconds in one unit of the fixed part; also what it is before anything has been seen. */
  private static final double FIXED_UNIT_MS = 20;

  private static final double MOST_FIXED = 50;

  /** A prediction below this is judged as if it were this: there the clock and the network speak, not the engine. */
  private static final double LEAST_SCALE_MS = 20;

  private static final double MOST_ERROR = 10;
  private static final int ERROR_MEMORY = 200;
  private static final double[] LEAST = {0, 1 / MOST_FACTOR, 1 / MOST_FACTOR};
  private static final double[] MOST = {MOST_FIXED, MOST_FACTOR, MOST_FACTOR};

  private final EngineCost start;

  // The last prompts: what their tokens and pairs would have cost by the coefficients to begin with, what they
  // waited behind, and what they took.
  private final double[] tokensMs = new double[WINDOW];
  private final double[] pairsMs = new double[WINDOW];
  private final double[] queueMs = new double[WINDOW];
  private final double[] ttftMs = new double[WINDOW];
  private final double[] residual = new double[WINDOW];

  /** The fixed part in its unit, a and b. */
  private final double[] fitted = {1, 1, 1};

  private long samples;
  private double error;
  private volatile LearntCost learnt;

  /** A fit that has seen nothing. */
  CostFit(EngineCost start) {
    this.start = start;
    this.learnt = new LearntCost(start, FIXED_UNIT_MS, 0, 0);
  }

  /** The fit as of now. */
  LearntCost learnt() {
    return learnt;
  }

  /** Takes a prompt into account. */
  synchronized void observe(PrefillSample prefill) {
    int at = (int) (samples % WINDOW);
    tokensMs[at] = EngineCost.prefillMs(start.msPerToken(), 0, prefill.uncachedTokens(), prefill.promptTokens());
    pairsMs[at] = EngineCost.prefillMs(0, start.msPerPair(), prefill.uncachedTokens(), prefill.promptTokens());
    queueMs[at] = prefill.queueMs();
    ttftMs[at] = prefill.ttftMs();
    samples++;
    double wrong = Math.min(MOST_ERROR, Math.abs(ttftMs[at] - predicted(at)) / ttftMs[at]);
    error += (wrong - error) / Math.min(samples, ERROR_MEMORY);
    if (samples < WINDOW / 4 || samples % REFIT == 0) {
      for (int i = 0; i < REWEIGHTINGS; i++) {
        fit();
      }
    }
    EngineCost cost =
        new EngineCost(
            fitted[1] * start.msPerToken(), fitted[2] * start.msPerPair(), start.msPerContextToken(), start.kvTokens());
    learnt = new LearntCost(cost, fitted[0] * FIXED_UNIT_MS, samples, error);
  }

  private double own(int at) {
    return fitted[1] * tokensMs[at] + fitted[2] * pairsMs[at];
  }

  private double predicted(int at) {
    return fitted[0] * FIXED_UNIT_MS + queueMs[at] + own(at);
  }

  /** Weighs the window by the last fit and solves its normal equations. */
  private void fit() {
    int count = (int) Math.min(samples, WINDOW);
    double fair = OUTLYING * Math.max(LEAST_TYPICAL, typical(count));
    // BELIEF·(fixed − 1)² + BELIEF·((a + b)/2 − 1)² + SHAPE·(a − b)², in shares of the last fit as residuals are.
    double factor = (fitted[1] + fitted[2]) / 2;
    double fixed = BELIEF / square(Math.max(1, fitted[0]));
    double belief = BELIEF / square(Math.max(1, factor));
    double shape = SHAPE / square(factor);
    double[][] products = {
      {fixed, 0, 0},
      {0, belief / 4 + shape, belief / 4 - shape},
      {0, belief / 4 - shape, belief / 4 + shape}
    };
    double[] towards = {fixed, belief / 2, belief / 2};
    double[] x = new double[fitted.length];
    for (int at = 0; at < count; at++) {
      double scale = Math.max(predicted(at), LEAST_SCALE_MS);
      double share = own(at) / (own(at) + queueMs[at]);
      double weight = square(share) * Math.min(1, fair * scale / Math.abs(ttftMs[at] - predicted(at)));
      x[0] = FIXED_UNIT_MS / scale;
      x[1] = tokensMs[at] / scale;
      x[2] = pairsMs[at] / scale;
      double y = (ttftMs[at] - queueMs[at]) / scale;
      for (int i = 0; i < x.length; i++) {
        for (int j = 0; j < x.length; j++) {
          products[i][j] += weight * x[i] * x[j];
        }
        towards[i] += weight * x[i] * y;
      }
    }
    solve(products, towards);
  }

  private static double square(double number) {
    return number * number;
  }

  /** The median residual. */
  private double typical(int count) {
    for (int at = 0; at < count; at++) {
      residual[at] = Math.abs(ttftMs[at] - predicted(at)) / Math.max(predicted(at), LEAST_SCALE_MS);
    }
    Arrays.sort(residual, 0, count);
    return residual[count / 2];
  }

  /** Minimises one variable after the other within its bounds; the last solution is close to begin with. */
  private void solve(double[][] products, double[] towards) {
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
      for (int i = 0; i < fitted.length; i++) {
        double target = towards[i];
        for (int j = 0; j < fitted.length; j++) {
          target -= j == i ? 0 : products[i][j] * fitted[j];
        }
        fitted[i] = Math.clamp(target / products[i][i], LEAST[i], MOST[i]);
      }
    }
  }
}
