package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Scorer;

/** How loaded a worker is, {@code by} (requests) one measure of load. */
final class LeastLoadScorer implements Scorer {
  private final Load by;

  LeastLoadScorer(Parameters parameters) {
    this.by = parameters.choice("by", Load.REQUESTS);
  }

  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      out[slot] =
          switch (by) {
            case REQUESTS -> candidates.inFlight[slot];
            case TOKENS -> candidates.pendingTokens[slot];
            case KV -> candidates.contextTokens[slot];
            case QUEUE -> candidates.queueMs[slot];
          };
    }
  }

  @Override
  public Better better() {
    return Better.LOWER;
  }

  /** A measure of load. */
  private enum Load {
    /** Requests in flight. */
    REQUESTS,
    /** Prompt tokens still to be computed. */
    TOKENS,
    /** Prompt tokens of the requests in flight, which occupy the cache. */
    KV,
    /** Milliseconds to compute what is pending. */
    QUEUE
  }
}
