package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Scorer;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import java.util.Set;

/**
 * Score of the longest cached prefix, with a saturation limit: a worker with {@code saturation} (8) or more requests in
 * flight scores below those under the limit with at least {@code min-match} (2) cached blocks. When there is none of
 * those, the least loaded worker is best, so that a popular prefix spreads to further workers.
 *
 * <p>The score is the depth for workers with a match under the limit; for all others it is negative, by their requests
 * in flight.
 */
final class LongestPrefixScorer implements Scorer {
  private final int saturation;
  private final int minMatch;

  LongestPrefixScorer(Parameters parameters) {
    this.saturation = parameters.whole("saturation", 8, 1, 1_000_000);
    this.minMatch = parameters.whole("min-match", 2, 1, 1_000_000);
  }

  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    for (int slot = 0; slot < candidates.slots(); slot++) {
      int depth = candidates.depth[slot];
      int inFlight = candidates.inFlight[slot];
      out[slot] = depth >= minMatch && inFlight < saturation ? depth : -1.0 - inFlight;
    }
  }

  @Override
  public Direction direction() {
    return Direction.HIGHER;
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(Slots.CHAIN);
  }
}
