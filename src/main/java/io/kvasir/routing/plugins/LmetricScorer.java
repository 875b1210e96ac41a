package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.PromptSize;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Scorer;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import java.util.Set;

/**
 * Score of pending work times requests: the prompt tokens that a worker would have to compute, this request's included,
 * times the requests it would then have. A product has no weights to tune. (LMetric, OSDI 2026.)
 */
final class LmetricScorer implements Scorer {
  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    PromptSize prompt = PromptSize.of(context);
    for (int slot = 0; slot < candidates.slots(); slot++) {
      int uncached = prompt.uncached(candidates.depth[slot]);
      // With this request included, an idle worker with nothing cached scores worse than one with everything.
      out[slot] = (double) (candidates.pendingTokens[slot] + uncached) * (candidates.inFlight[slot] + 1);
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
