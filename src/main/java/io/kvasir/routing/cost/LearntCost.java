package io.kvasir.routing.cost;

/**
 * What has been learnt of a deployment.
 *
 * @param cost its cost as decisions reckon with it
 * @param fixedMs milliseconds to the first token that no prompt token accounts for
 * @param samples first tokens it was learnt from
 * @param error how far predictions were from the truth: the running mean of |predicted − actual| / actual TTFT, each
 *     counted as 10 at most
 */
public record LearntCost(EngineCost cost, double fixedMs, long samples, double error) {}
