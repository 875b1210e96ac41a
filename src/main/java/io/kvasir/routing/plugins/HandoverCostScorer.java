package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.Partner;
import io.kvasir.routing.PerMembership;
import io.kvasir.routing.PromptSize;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Scorer;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.FleetCosts;
import io.kvasir.routing.cost.OutputLengths;
import java.util.Set;

/**
 * Expected cost, in milliseconds, of decoding on a worker after a remote or local prefill:
 *
 * <pre>min(ready + transfer(u), Q + P(u)·(kappa + gamma·B)) + delta·O·c·KV</pre>
 *
 * <p>The first term is {@link Partner}'s, with the workflow's kappa and gamma; the second is that of the expected cost.
 *
 * <ul>
 *   <li>{@code delta} (2): the price of decoding relative to starting.
 * </ul>
 */
final class HandoverCostScorer implements Scorer {
  private final double delta;
  private final OutputLengths outputs;
  private final PerMembership<FleetCosts> costs;

  HandoverCostScorer(Parameters parameters, CostModel costs, OutputLengths outputs) {
    this.delta = parameters.number("delta", 2, 0, 1e6);
    this.outputs = outputs;
    this.costs = PerMembership.costs(costs);
  }

  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    PromptSize prompt = PromptSize.of(context);
    double decode = delta * outputs.expected(context.model());
    FleetCosts engines = costs.of(candidates);
    Partner partner = context.get(Slots.PARTNER);
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      int uncached = prompt.uncached(candidates.depth[slot]);
      out[slot] =
          partner.promptMs(candidates, engines, slot, uncached, prompt.tokens())
              + decode * engines.msPerContextToken(slot) * candidates.contextTokens[slot];
    }
  }

  @Override
  public Direction direction() {
    return Direction.LOWER;
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(Slots.PROMPT_TOKENS, Slots.CHAIN, Slots.PARTNER);
  }
}
