package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.PromptSize;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Scorer;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import java.util.Set;

/**
 * Score of blocks to prefill plus blocks in use, this request's included: a worker's work and its memory in one unit.
 * {@code prefill-weight} (1) weights the first against the second. The rule of NVIDIA Dynamo's router.
 */
final class AdditiveBlocksScorer implements Scorer {
  private final double prefillWeight;

  AdditiveBlocksScorer(Parameters parameters) {
    this.prefillWeight = parameters.number("prefill-weight", 1, 0, 1e6);
  }

  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    PromptSize prompt = PromptSize.of(context);
    for (int slot = 0; slot < candidates.slots(); slot++) {
      int uncached = prompt.uncached(candidates.depth[slot]);
      double prefill = candidates.pendingTokens[slot] + uncached;
      double inUse = candidates.contextTokens[slot] + prompt.tokens();
      out[slot] = (prefillWeight * prefill + inUse) / prompt.blockSize();
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
