package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.PerMembership;
import io.kvasir.routing.PromptSize;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Scorer;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.FleetCosts;
import java.util.Set;

/**
 * Score of the prefill work before this request's first token: what is queued on a worker and the prompt's uncached
 * tokens, {@code by} (tokens) tokens, which was published as LPWL, the least prefill work left, or, as Mooncake's
 * Conductor predicts the time to first token, milliseconds.
 *
 * <p>Qin et al.: "Mooncake: Trading More Storage for Less Computation", FAST 2025.
 */
final class WorkLeftScorer implements Scorer {
  private final Unit by;
  private final PerMembership<FleetCosts> costs;

  WorkLeftScorer(Parameters parameters, CostModel costs) {
    this.by = parameters.choice("by", Unit.TOKENS);
    this.costs = PerMembership.costs(costs);
  }

  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    PromptSize prompt = PromptSize.of(context);
    FleetCosts engines = costs.of(candidates);
    for (int slot = 0; slot < candidates.slots(); slot++) {
      int uncached = prompt.uncached(candidates.depth[slot]);
      out[slot] =
          by == Unit.TOKENS
              ? candidates.pendingTokens[slot] + uncached
              : candidates.queueMs[slot] + engines.prefillMs(slot, uncached, prompt.tokens());
    }
  }

  @Override
  public Direction direction() {
    return Direction.LOWER;
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(Slots.PROMPT_TOKENS, Slots.CHAIN);
  }

  /** The unit of work. */
  private enum Unit {
    /** Prompt tokens to compute. */
    TOKENS,
    /** Milliseconds to compute them. */
    MS
  }
}
