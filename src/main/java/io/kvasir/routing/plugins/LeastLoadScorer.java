package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Scorer;

/** Score of a worker's load, {@code by} (requests) one measure of it. */
final class LeastLoadScorer implements Scorer {
  private final Load by;

  LeastLoadScorer(Parameters parameters) {
    this.by = parameters.choice("by", Load.REQUESTS);
  }

  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    switch (by) {
      case REQUESTS -> {
        for (int slot = 0; slot < candidates.slots(); slot++) {
          out[slot] = candidates.inFlight[slot];
        }
      }
      case TOKENS -> copy(candidates.pendingTokens, out);
      case KV -> copy(candidates.contextTokens, out);
      case QUEUE -> System.arraycopy(candidates.queueMs, 0, out, 0, candidates.slots());
    }
  }

  private static void copy(long[] load, double[] out) {
    for (int slot = 0; slot < load.length; slot++) {
      out[slot] = load[slot];
    }
  }

  @Override
  public Direction direction() {
    return Direction.LOWER;
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
