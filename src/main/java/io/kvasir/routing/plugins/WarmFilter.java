package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Filter;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.PerMembership;
import io.kvasir.routing.PromptSize;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import io.kvasir.routing.UnmetNeed;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.FleetCosts;
import java.util.Set;

/**
 * Keeps the warm workers, those that have {@code share} (0.8) of the prompt, unless there are none, or all of them have
 * {@code most-wait-ms} (14,000) more of queued prefill than the least loaded of the others. Sticky until saturated, as
 * in llm-d.
 */
final class WarmFilter implements Filter {
  private final double share;
  private final double maxWaitMs;
  private final PerMembership<FleetCosts> costs;

  WarmFilter(Parameters parameters, CostModel costs) {
    this.share = parameters.number("share", 0.8, 0, 1);
    this.maxWaitMs = parameters.number("most-wait-ms", 14_000, 0, 1e9);
    this.costs = PerMembership.costs(costs);
  }

  @Override
  public boolean afterSearch() {
    return true;
  }

  @Override
  public void filter(RoutingContext context, Candidates candidates) {
    FleetCosts engines = costs.of(candidates);
    PromptSize prompt = PromptSize.of(context);
    double minWarmMs = Double.POSITIVE_INFINITY;
    double minColdMs = Double.POSITIVE_INFINITY;
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      double pendingMs = candidates.pendingTokens[slot] * engines.msPerToken(slot);
      if (isWarm(prompt, candidates.depth[slot])) {
        minWarmMs = Math.min(minWarmMs, pendingMs);
      } else {
        minColdMs = Math.min(minColdMs, pendingMs);
      }
    }
    // Without any warm worker, all candidates are kept.
    if (minWarmMs - minColdMs <= maxWaitMs && minWarmMs < Double.POSITIVE_INFINITY) {
      for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
        if (!isWarm(prompt, candidates.depth[slot])) {
          candidates.remove(slot);
        }
      }
    }
  }

  private boolean isWarm(PromptSize prompt, int depth) {
    return prompt.cached(depth) >= share * prompt.tokens();
  }

  @Override
  public UnmetNeed unmetNeed() {
    return UnmetNeed.ROOM;
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(Slots.PROMPT_TOKENS, Slots.CHAIN);
  }
}
