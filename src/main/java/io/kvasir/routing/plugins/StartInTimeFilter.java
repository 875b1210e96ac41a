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
 * Removes the workers whose predicted time to first token, from their queue and the prompt's uncached tokens, exceeds
 * {@code ttft-ms} (10,000). When that is all of them, the request is refused at once: early rejection as in Mooncake,
 * which keeps the other answers of an overloaded fleet in time.
 */
final class StartInTimeFilter implements Filter {
  private final double ttftMs;
  private final PerMembership<FleetCosts> costs;

  StartInTimeFilter(Parameters parameters, CostModel costs) {
    this.ttftMs = parameters.number("ttft-ms", 10_000, 1, 1e9);
    this.costs = PerMembership.costs(costs);
  }

  @Override
  public boolean afterSearch() {
    return true;
  }

  @Override
  public void filter(RoutingContext context, Candidates candidates) {
    PromptSize prompt = PromptSize.of(context);
    FleetCosts engines = costs.of(candidates);
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      int uncached = prompt.uncached(candidates.depth[slot]);
      if (candidates.queueMs[slot] + engines.prefillMs(slot, uncached, prompt.tokens()) > ttftMs) {
        candidates.remove(slot);
      }
    }
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
