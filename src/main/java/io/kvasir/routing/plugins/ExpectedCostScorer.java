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
 * Expected cost for the fleet, in milliseconds, of sending the request to a worker:
 *
 * <pre>Q + P(u)·(K + gamma·B) + delta·O·c·KV</pre>
 *
 * <p>Q is the work queued there, P(u) the time to compute the u prompt tokens it has not cached, B its requests in
 * flight, KV their context in tokens, O the model's expected output length and c the time that a token of context adds
 * to each decode step. Where m of the u tokens are pulled from another worker, which takes T, it is
 *
 * <pre>Q + P(u − m)·(K + gamma·B) + T + (P(u) − P(u − m))·(K − 1) + delta·O·c·KV</pre>
 *
 * <p>since a copy takes as much memory however it came: with the transfer's price alone, prefixes were copied until
 * each worker evicted what the others came for (agents' sessions: goodput .86 without pulls, .71 with that price).
 *
 * <ul>
 *   <li>{@code kappa} (3), {@code backlog} (4), {@code eviction} (4): K, the {@linkplain ComputingPrice price of
 *       computing}, which rises with the work that is queued in the fleet and with what the worker loses by evicting.
 *   <li>{@code gamma} (0.3): share of a prefill by which each request that is decoding there is delayed.
 *   <li>{@code delta} (2): the price of decoding relative to starting. The contexts there slow this request down, and
 *       it slows them down, which for requests of about one length is as much: the fleet pays both, and a popular
 *       prefix is copied to a second worker before the first one decodes all its requests.
 * </ul>
 */
final class ExpectedCostScorer implements Scorer {
  private final ComputingPrice computing;
  private final double gamma;
  private final double delta;
  private final OutputLengths outputs;
  private final PerMembership<FleetCosts> costs;

  ExpectedCostScorer(Parameters parameters, CostModel costs, OutputLengths outputs) {
    this.computing = ComputingPrice.of(parameters);
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
    long[] contextTokens = candidates.contextTokens;
    computing.fill(candidates);
    if (candidates.pulls()) {
      scoreWithPulls(candidates, engines, prompt, out);
    } else {
      score(candidates, engines, prompt, out);
    }
    for (int slot = 0; slot < out.length; slot++) {
      out[slot] += decode * engines.msPerContextToken(slot) * contextTokens[slot];
    }
  }

  // Apart from the decoding's loop: the compiler makes vector instructions of this one, where there are none to convert
  // a long.
  private void score(Candidates candidates, FleetCosts engines, PromptSize prompt, double[] out) {
    int tokens = prompt.tokens();
    int[] depth = candidates.depth;
    int[] inFlight = candidates.inFlight;
    double[] queueMs = candidates.queueMs;
    double[] computingPrice = candidates.computingPrice;
    for (int slot = 0; slot < out.length; slot++) {
      double price = computingPrice[slot] + gamma * inFlight[slot];
      out[slot] = queueMs[slot] + engines.prefillMs(slot, prompt.uncached(depth[slot]), tokens) * price;
    }
  }

  private void scoreWithPulls(Candidates candidates, FleetCosts engines, PromptSize prompt, double[] out) {
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      double kappa = candidates.computingPrice[slot];
      double price = kappa + gamma * candidates.inFlight[slot];
      double computedMs = engines.prefillMs(slot, prompt.uncached(candidates.depth[slot]), prompt.tokens());
      if (candidates.source[slot] < 0) {
        out[slot] = candidates.queueMs[slot] + computedMs * price;
      } else {
        int uncached = prompt.uncached(candidates.depth[slot], candidates.loadable[slot]);
        double restMs = engines.prefillMs(slot, uncached, prompt.tokens());
        double copyMs = Math.max(0, kappa - 1) * (computedMs - restMs);
        out[slot] = candidates.queueMs[slot] + restMs * price + candidates.pullMs[slot] + copyMs;
      }
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
