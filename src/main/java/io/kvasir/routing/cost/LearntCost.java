package io.kvasir.routing.cost;

/**
 * The learnt cost of a deployment.
 *
 * @param cost the fitted coefficients
 * @param fixedMs milliseconds to the first token that do not depend on the prompt
 * @param samples number of samples
 * @param error relative error of predictions: the running mean of |predicted − actual| / actual TTFT, each at most 10
 */
public record LearntCost(EngineCost cost, double fixedMs, long samples, double error) {
  /** That of one engine, which takes {@code pace} times as long as the others of its deployment. */
  public LearntCost paced(double pace) {
    return pace == 1 ? this : new LearntCost(cost.paced(pace), fixedMs, samples, error);
  }
}
