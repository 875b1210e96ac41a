package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.PerMembership;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Scorer;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.FleetCosts;

/**
 * Score of the share of a worker's KV cache that is free, 0 to 1, estimated from the contexts of requests in flight.
 */
final class KvRoomScorer implements Scorer {
  private final PerMembership<FleetCosts> costs;

  KvRoomScorer(CostModel costs) {
    this.costs = PerMembership.costs(costs);
  }

  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    FleetCosts engines = costs.of(candidates);
    for (int slot = 0; slot < candidates.slots(); slot++) {
      out[slot] = Math.max(0, 1 - candidates.contextTokens[slot] / engines.kvTokens(slot));
    }
  }

  @Override
  public Direction direction() {
    return Direction.HIGHER;
  }
}
