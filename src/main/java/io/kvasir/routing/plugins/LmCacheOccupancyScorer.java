package io.kvasir.routing.plugins;

import io.kvasir.routing.CacheLayer;
import io.kvasir.routing.Candidates;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.PerMembership;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Scorer;
import io.kvasir.routing.Worker;

/**
 * Score of the number of keys that LMCache holds for a worker, against its load:
 *
 * <pre>w·keys/max_keys + (1 − w)·(max_load − load)/max_load</pre>
 *
 * <p>with {@code cache-weight} (0.7) for w and requests in flight for load. The scorer lacks its inputs while LMCache's
 * counts are missing or too old, or have no keys of any candidate.
 */
final class LmCacheOccupancyScorer implements Scorer {
  private final double weight;
  private final CacheLayer layer;
  private final PerMembership<long[]> keys;

  LmCacheOccupancyScorer(Parameters parameters, CacheLayer layer) {
    this.weight = parameters.number("cache-weight", 0.7, 0, 1);
    this.layer = layer;
    this.keys = new PerMembership<>(table -> bySlot(table, layer.keys()), () -> layer.keys().version());
  }

  private static long[] bySlot(Worker[] table, CacheLayer.KeyCounts counts) {
    long[] keys = new long[table.length];
    for (int slot = 0; slot < table.length; slot++) {
      keys[slot] = table[slot] == null ? 0 : counts.byWorker().getOrDefault(table[slot].id(), 0L);
    }
    return keys;
  }

  @Override
  public boolean hasInputs(RoutingContext context, Candidates candidates) {
    return layer.keys().isFresh(context.nanos()) && max(keys.of(candidates), candidates) > 0;
  }

  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    long[] keyCounts = keys.of(candidates);
    double perKey = keyCounts.length == 0 ? 0 : weight / Math.max(1, max(keyCounts, candidates));
    LoadShare load = LoadShare.of(candidates);
    for (int slot = 0; slot < candidates.slots(); slot++) {
      out[slot] = perKey * keyCounts[slot] + (1 - weight) * load.free(candidates.inFlight[slot]);
    }
  }

  private static long max(long[] keys, Candidates candidates) {
    long max = 0;
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      max = Math.max(max, keys[slot]);
    }
    return max;
  }

  @Override
  public Direction direction() {
    return Direction.HIGHER;
  }
}
