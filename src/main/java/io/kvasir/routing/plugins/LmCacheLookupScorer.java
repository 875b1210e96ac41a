package io.kvasir.routing.plugins;

import io.kvasir.index.Tier;
import io.kvasir.routing.CacheLayer;
import io.kvasir.routing.Candidates;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Scorer;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import java.util.Set;

/**
 * Score of the share of the prompt that a worker can load from LMCache, against its load:
 * {@code w·matched/n + (1 − w)·(max_load − load)/max_load}, with {@code cache-weight} (0.7) for w and requests in
 * flight for load. Tokens are weighted by tier: {@code host} (1), {@code disk} (0.7), {@code remote} (0.4). The scorer
 * lacks its inputs when LMCache has not answered.
 */
final class LmCacheLookupScorer implements Scorer {
  private final double weight;
  private final double[] worth = new double[Tier.values().length];
  private final LoadableTokens loadableTokens;

  LmCacheLookupScorer(Parameters parameters, CacheLayer layer) {
    this.loadableTokens = new LoadableTokens(layer);
    this.weight = parameters.number("cache-weight", 0.7, 0, 1);
    worth[Tier.DEVICE.index()] = 1;
    worth[Tier.HOST.index()] = parameters.number("host", 1, 0, 1);
    worth[Tier.DISK.index()] = parameters.number("disk", 0.7, 0, 1);
    worth[Tier.REMOTE.index()] = parameters.number("remote", 0.4, 0, 1);
  }

  @Override
  public boolean hasInputs(RoutingContext context, Candidates candidates) {
    return LoadableTokens.isKnown(context);
  }

  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    loadableTokens.fill(context, candidates);
    double perToken = weight / Slots.promptTokens(context);
    LoadShare load = LoadShare.of(candidates);
    for (int slot = 0; slot < candidates.slots(); slot++) {
      out[slot] =
          perToken * candidates.loadable[slot] * worth[candidates.loadableTier[slot]]
              + (1 - weight) * load.free(candidates.inFlight[slot]);
    }
  }

  @Override
  public void onChosen(RoutingContext context, Candidates candidates, int slot) {
    loadableTokens.note(context, candidates, slot);
  }

  @Override
  public Direction direction() {
    return Direction.HIGHER;
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(Slots.PROMPT_TOKENS, Slots.CHAIN, Slots.CACHE_MATCHES);
  }
}
