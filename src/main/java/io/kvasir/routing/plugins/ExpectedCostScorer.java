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
import io.kvasir.routing.cost.OutputLengths;
import java.util.Set;

/**
 * What it costs the fleet, in milliseconds, to send the request to a worker:
 *
 * <pre>Q + P(u)·(kappa + gamma·B) + delta·O·c·KV</pre>
 *
 * <p>Q is the work queued there, P(u) the time to compute the u prompt tokens it has not cached, B its
 * requests in flight, KV their context in tokens, O the length of answer to expect of the model and c what a
 * token of context adds to each decode step.
 *
 * <ul>
 *   <li>{@code kappa} (3): the price of computing what another worker has cached, counted against the queue:
 *       besides the time itself it fills memory with copies and evicts what others need. 1 minds nothing but
 *       the time to first token, very much keeps everything where it is cached.
 *   <li>{@code gamma} (0.3): how much of a prefill each request that is decoding there is held up.
 *   <li>{@code delta} (2): how much decoding counts against starting. Once for what the contexts there slow this
 *       request down and once for what it slows them, which for requests of about one length is as much: the
 *       fleet pays both, and a popular prefix is copied before its holder decodes for everybody.
 * </ul>
 */
final class ExpectedCostScorer implements Scorer {
  private final double kappa;
  private final double gamma;
  private final double delta;
  private final OutputLengths outputs;
  private final PerMembership<FleetCosts> costs;

  ExpectedCostScorer(Parameters parameters, CostModel costs, OutputLengths outputs) {
    this.kappa = parameters.number("kappa", 3, 0, 1e6);
    this.gamma = parameters.number("gamma", 0.3, 0, 1e6);
    this.delta = parameters.number("delta", 2, 0, 1e6);
    this.outputs = outputs;
    this.costs = PerMembership.costs(costs);
  }

  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    PromptSize prompt = PromptSize.of(context);
    double decode = delta * outputs.expected(context.model());
    FleetCosts engines = costs.of(candidates);
    for (int slot = 0; slot < candidates.slots(); slot++) {
      int uncached = prompt.uncached(candidates.depth[slot]);
      out[slot] =
          candidates.queueMs[slot]
              + engines.prefillMs(slot, uncached, prompt.tokens()) * (kappa + gamma * candidates.inFlight[slot])
              + decode * engines.msPerContextToken(slot) * candidates.contextTokens[slot];
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
}
