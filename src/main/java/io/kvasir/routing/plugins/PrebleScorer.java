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
 * Preble's E2 rule, exploit or explore: when most of the prompt is cached on some worker, the least loaded of those
 * with the longest prefix; otherwise the worker that can compute it soonest. When the former are more than {@code
 * imbalance} (1.5) times as loaded as the least loaded worker, the latter rule applies, so that popular prefixes
 * spread.
 *
 * <p>Load is milliseconds of queued prefill and of decoding for the contexts there. The eviction term of the paper is
 * left out: the router does not know what a prompt would evict.
 *
 * <p>Srivatsa et al.: "Preble: Efficient Distributed Prompt Scheduling for LLM Serving", ICLR 2025.
 */
final class PrebleScorer implements Scorer {
  private final double imbalance;
  private final OutputLengths outputs;
  private final PerMembership<FleetCosts> costs;

  PrebleScorer(Parameters parameters, CostModel costs, OutputLengths outputs) {
    this.imbalance = parameters.number("imbalance", 1.5, 1, 1e6);
    this.outputs = outputs;
    this.costs = PerMembership.costs(costs);
  }

  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    PromptSize prompt = PromptSize.of(context);
    double output = outputs.expected(context.model());
    FleetCosts engines = costs.of(candidates);
    int deepest = 0;
    double minLoad = Double.POSITIVE_INFINITY;
    for (int slot = 0; slot < candidates.slots(); slot++) {
      out[slot] =
          candidates.queueMs[slot] + output * engines.msPerContextToken(slot) * candidates.contextTokens[slot];
      if (candidates.has(slot)) {
        deepest = Math.max(deepest, candidates.depth[slot]);
        minLoad = Math.min(minLoad, out[slot]);
      }
    }
    int cached = prompt.cached(deepest);
    if (cached > prompt.tokens() - cached && minLoadAt(deepest, candidates, out) <= imbalance * minLoad) {
      for (int slot = 0; slot < candidates.slots(); slot++) {
        out[slot] = candidates.depth[slot] == deepest ? out[slot] : Double.POSITIVE_INFINITY;
      }
      return;
    }
    for (int slot = 0; slot < candidates.slots(); slot++) {
      int uncached = prompt.uncached(candidates.depth[slot]);
      out[slot] += engines.prefillMs(slot, uncached, prompt.tokens());
    }
  }

  private static double minLoadAt(int depth, Candidates candidates, double[] load) {
    double minLoad = Double.POSITIVE_INFINITY;
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      if (candidates.depth[slot] == depth) {
        minLoad = Math.min(minLoad, load[slot]);
      }
    }
    return minLoad;
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
