package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.PromptSize;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Scorer;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import java.util.Set;

/** Score of the share of the prompt that a worker has cached, 0 to 1. */
final class CacheAffinityScorer implements Scorer {
  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    PromptSize prompt = PromptSize.of(context);
    for (int slot = 0; slot < candidates.slots(); slot++) {
      out[slot] = (double) prompt.cached(candidates.depth[slot]) / prompt.tokens();
    }
  }

  @Override
  public Direction direction() {
    return Direction.HIGHER;
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(Slots.PROMPT_TOKENS, Slots.CHAIN);
  }
}
