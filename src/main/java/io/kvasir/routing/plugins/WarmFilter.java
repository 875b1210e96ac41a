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
 * Keeps the workers that have {@code share} (0.8) of the prompt, unless there are none or all of them have
 * more to do than the idlest of the others by {@code most-wait-ms} (14,000) of prefill. Sticky until
 * saturated, as llm-d has it.
 */
final class WarmFilter implements Filter {
  private final double share;
  private final double mostWaitMs;
  private final PerMembership<FleetCosts> costs;

  WarmFilter(Parameters parameters, CostModel costs) {
    this.share = parameters.number("share", 0.8, 0, 1);
    this.mostWaitMs = parameters.number("most-wait-ms", 14_000, 0, 1e9);
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
    double warm = Double.POSITIVE_INFINITY;
    double cold = Double.POSITIVE_INFINITY;
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      double pendingMs = candidates.pendingTokens[slot] * engines.msPerToken(slot);
      if (warm(prompt, candidates.depth[slot])) {
        warm = Math.min(warm, pendingMs);
      } else {
        cold = Math.min(cold, pendingMs);
      }
    }
    // Written so that no warm worker at all keeps nobody out, either.
    if (warm - cold <= mostWaitMs && warm < Double.POSITIVE_INFINITY) {
      for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
        if (!warm(prompt, candidates.depth[slot])) {
          candidates.remove(slot);
        }
      }
    }
  }

  private boolean warm(PromptSize prompt, int depth) {
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
