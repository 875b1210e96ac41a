package io.kvasir.routing.cost;

import java.util.Arrays;

/**
 * A robust regression of one deployment's cost coefficients over the times to first token of its last {@value #WINDOW}
 * prompts.
 *
 * <p>The model is {@code TTFT = fixed + queue + a·msPerToken·u + b·msPerPair·u·(n − u/2)}, with the deployment's
 * initial coefficients and the factors {@code a} and {@code b} to be fitted: least squares over residuals relative to
 * the prediction, so that short prompts have as much weight as long ones. It is robust in these ways:
 *
 * <ul>
 *   <li>Contention only ever adds to a TTFT, and some requests hang. A residual beyond {@value #HUBER_THRESHOLD} times
 *       the median one counts by its sign and no longer by its size: Huber's weights, found by reweighting the whole
 *       window a few times. A tenth of the prompts may be arbitrarily late and move the fit by a few percent.
 *   <li>The queue is an estimate, and the progress of its first prompt is not known. A prompt's weight is the square of
 *       its share in the total wait: 1 on an idle engine, 1/25 behind four times its own work.
 *   <li>The first prompts say little: engines and routers that have just started are late with all of them. What the
 *       initial coefficients say counts as some prompts that were answered as they predict, so that single late ones
 *       stand out from the beginning. Once more prompts contradict, these have Huber's weights themselves.
 *   <li>Prompts of about one length do not separate the costs of tokens and pairs, nor these from the fixed part. A
 *       prior of {@value #SHAPE_WEIGHT} prompts draws {@code b} to {@code a}: without evidence to the contrary an
 *       engine is slower or faster in both. Another draws the fixed part to its initial value, for which a deviation of
 *       {@value #FIXED_DEVIATION_MS} ms is as bad as a prompt that took twice as long as it should.
 *   <li>The factors stay within 1/{@value #MAX_FACTOR} and {@value #MAX_FACTOR}, whatever is observed.
 * </ul>
 *
 * <p>Thread-safe. Writers take a lock, for some microseconds when the fit is computed; readers read the last fit
 * without.
 *
 * <p>P. J. Huber, "Robust Estimation of a Location Parameter", 1964.
 */
final class CostFit {
  private static final int WINDOW = 256;

  /** Prompts between two fits once a quarter of the window is filled, since one prompt changes little then. */
  private static final int REFIT = 8;

  private static final int REWEIGHTINGS = 4;
  private static final int SWEEPS = 32;
  private static final double HUBER_THRESHOLD = 1.5;
  private static final double MIN_MEDIAN_RESIDUAL = 0.05;
  private static final double SHAPE_WEIGHT = 1;
  private static final double MAX_FACTOR = 16;

  /** Milliseconds in one unit of the fixed part, which is also its initial value. */
  private static final double FIXED_UNIT_MS = 20;

  private static final double FIXED_DEVIATION_MS = 60;
  private static final double MAX_FIXED = 50;

  /** Lower bound of the scale of relative residuals: below it clock and network dominate, not the engine. */
  private static final double MIN_SCALE_MS = 20;

  private static final double MAX_ERROR = 10;
  private static final int ERROR_WINDOW = 200;
  private static final double[] LOWER_BOUNDS = {0, 1 / MAX_FACTOR, 1 / MAX_FACTOR};
  private static final double[] UPPER_BOUNDS = {MAX_FIXED, MAX_FACTOR, MAX_FACTOR};

  private final EngineCost initial;
  private final int priorPrompts;

  // The window of prompts: the cost of their tokens and pairs by the initial coefficients, the queue before them, and
  // their times to first token.
  private final double[] tokensMs = new double[WINDOW];
  private final double[] pairsMs = new double[WINDOW];
  private final double[] queueMs = new double[WINDOW];
  private final double[] ttftMs = new double[WINDOW];
  private final double[] residual;

  /** The fitted values: the fixed part in its unit, a and b. */
  private final double[] fitted = {1, 1, 1};

  private long samples;
  private double error;
  private volatile LearntCost learnt;

  /**
   * A fit without samples.
   *
   * @param priorPrompts the prompts as which the initial coefficients count, at least 1
   */
  CostFit(EngineCost initial, int priorPrompts) {
    this.initial = initial;
    this.priorPrompts = priorPrompts;
    this.residual = new double[WINDOW + priorPrompts];
    this.learnt = new LearntCost(initial, FIXED_UNIT_MS, 0, 0);
  }

  /** The latest fit. */
  LearntCost learnt() {
    return learnt;
  }

  /** Adds a sample. */
  synchronized void observe(PrefillSample prefill) {
    int at = (int) (samples % WINDOW);
    tokensMs[at] = EngineCost.prefillMs(initial.msPerToken(), 0, prefill.uncachedTokens(), prefill.promptTokens());
    pairsMs[at] = EngineCost.prefillMs(0, initial.msPerPair(), prefill.uncachedTokens(), prefill.promptTokens());
    queueMs[at] = prefill.queueMs();
    ttftMs[at] = prefill.ttftMs();
    samples++;
    double relativeError = Math.min(MAX_ERROR, Math.abs(ttftMs[at] - predictedMs(at)) / ttftMs[at]);
    error += (relativeError - error) / Math.min(samples, ERROR_WINDOW);
    if (samples < WINDOW / 4 || samples % REFIT == 0) {
      for (int i = 0; i < REWEIGHTINGS; i++) {
        fit();
      }
    }
    EngineCost cost =
        new EngineCost(
            fitted[1] * initial.msPerToken(), fitted[2] * initial.msPerPair(), initial.msPerContextToken(),
            initial.kvTokens());
    learnt = new LearntCost(cost, fitted[0] * FIXED_UNIT_MS, samples, error);
  }

  private double ownMs(int at) {
    return fitted[1] * tokensMs[at] + fitted[2] * pairsMs[at];
  }

  private double predictedMs(int at) {
    return fitted[0] * FIXED_UNIT_MS + queueMs[at] + ownMs(at);
  }

  /** Weights the window by the last fit and solves its normal equations. */
  private void fit() {
    int count = (int) Math.min(samples, WINDOW);
    double factor = (fitted[1] + fitted[2]) / 2;
    double priorResidual = Math.abs(1 - factor) / Math.max(1, factor);
    double threshold = HUBER_THRESHOLD * Math.max(MIN_MEDIAN_RESIDUAL, medianResidual(count, priorResidual));
    // (fixed − initial)²/deviation² + priorPrompts·w·((a − 1)² + (b − 1)²)/2
    // + SHAPE_WEIGHT·(a − b)², w by Huber; in a and b relative to the last fit as residuals are.
    double fixed = square(FIXED_UNIT_MS / FIXED_DEVIATION_MS);
    double prior = priorPrompts / 2.0 * Math.min(1, threshold / priorResidual);
    double priorA = prior / square(Math.max(1, fitted[1]));
    double priorB = prior / square(Math.max(1, fitted[2]));
    double shape = SHAPE_WEIGHT / square(factor);
    double[][] products = {
      {fixed, 0, 0},
      {0, priorA + shape, -shape},
      {0, -shape, priorB + shape}
    };
    double[] rhs = {fixed, priorA, priorB};
    double[] x = new double[fitted.length];
    for (int at = 0; at < count; at++) {
      double scale = Math.max(predictedMs(at), MIN_SCALE_MS);
      double share = ownMs(at) / (ownMs(at) + queueMs[at]);
      double weight = square(share) * Math.min(1, threshold * scale / Math.abs(ttftMs[at] - predictedMs(at)));
      x[0] = FIXED_UNIT_MS / scale;
      x[1] = tokensMs[at] / scale;
      x[2] = pairsMs[at] / scale;
      double y = (ttftMs[at] - queueMs[at]) / scale;
      for (int i = 0; i < x.length; i++) {
        for (int j = 0; j < x.length; j++) {
          products[i][j] += weight * x[i] * x[j];
        }
        rhs[i] += weight * x[i] * y;
      }
    }
    solve(products, rhs);
  }

  private static double square(double number) {
    return number * number;
  }

  /** The median of the relative residuals, the prior's included. */
  private double medianResidual(int count, double priorResidual) {
    for (int at = 0; at < count; at++) {
      residual[at] = Math.abs(ttftMs[at] - predictedMs(at)) / Math.max(predictedMs(at), MIN_SCALE_MS);
    }
    int all = count + priorPrompts;
    Arrays.fill(residual, count, all, priorResidual);
    Arrays.sort(residual, 0, all);
    return residual[all / 2];
  }

  /** Solves by coordinate descent within the bounds, starting from the last solution. */
  private void solve(double[][] products, double[] rhs) {
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
      for (int i = 0; i < fitted.length; i++) {
        double target = rhs[i];
        for (int j = 0; j < fitted.length; j++) {
          target -= j == i ? 0 : products[i][j] * fitted[j];
        }
        fitted[i] = Math.clamp(target / products[i][i], LOWER_BOUNDS[i], UPPER_BOUNDS[i]);
      }
    }
  }
}
