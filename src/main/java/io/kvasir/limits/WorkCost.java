package io.kvasir.limits;

/**
 * What tokens cost, beside one of a prompt that no cache held, which costs 1. Immutable.
 *
 * @param cached a prompt's token that the engine had in its cache
 * @param output a generated token
 */
public record WorkCost(double cached, double output) {
  /** The cost of work, in whole tokens. */
  long of(Work work) {
    return Math.round(work.uncached() + work.cached() * cached + work.output() * output);
  }
}
