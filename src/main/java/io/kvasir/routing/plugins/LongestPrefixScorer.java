package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Scorer;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import java.util.Set;

/**
 * The longest cached prefix, with a valve: a worker with {@code saturation} (8) or more requests in flight
 * yields to one below that with at least {@code min-match} (2) cached blocks. Where nobody below saturation
 * has as much, the least loaded worker is taken, so that a popular prefix spreads instead of piling up.
 *
 * <p>The score is the depth for those that count as holders, and below zero by the requests in flight for
 * all others.
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
