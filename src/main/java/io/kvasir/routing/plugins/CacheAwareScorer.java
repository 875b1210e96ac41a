package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.PerMembership;
import io.kvasir.routing.PromptSize;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Scorer;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The cache-aware rule of SGLang's and vLLM's routers: while the fleet is out of balance (requests in flight differ by
 * more than {@code abs} (64) and by more than {@code rel} (1.5) times) the worker with fewest in flight; otherwise the
 * one with most of the prompt if that is more than {@code threshold} (0.3) of it, else the one that has cached least so
 * far.
 *
 * <p>"Cached so far" are the uncached tokens sent to a worker since the fleet's membership last changed, as
 * their routers count the text in their trees.
 */
final class CacheAwareScorer implements Scorer {
  private final int abs;
  private final double rel;
  private final double threshold;
  private final PerMembership<AtomicLongArray> sent = new PerMembership<>(table -> new AtomicLongArray(table.length));

  CacheAwareScorer(Parameters parameters) {
    this.abs = parameters.whole("abs", 64, 0, 1_000_000);
    this.rel = parameters.number("rel", 1.5, 1, 1e6);
    this.threshold = parameters.number("threshold", 0.3, 0, 1);
  }

  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    int max = 0;
    int min = Integer.MAX_VALUE;
    int deepest = 0;
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      max = Math.max(max, candidates.inFlight[slot]);
      min = Math.min(min, candidates.inFlight[slot]);
      deepest = Math.max(deepest, candidates.depth[slot]);
    }
    boolean unbalanced = max - min > abs && max > rel * min;
    PromptSize prompt = PromptSize.of(context);
    boolean isCached = prompt.cached(deepest) > threshold * prompt.tokens();
    AtomicLongArray tokens = sent.of(candidates);
    for (int slot = 0; slot < candidates.slots(); slot++) {
      out[slot] =
          unbalanced ? -candidates.inFlight[slot] : isCached ? candidates.depth[slot] : -tokens.get(slot);
    }
  }

  @Override
  public void onChosen(RoutingContext context, Candidates candidates, int slot) {
    sent.of(candidates).addAndGet(slot, PromptSize.of(context).uncached(candidates.depth[slot]));
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
