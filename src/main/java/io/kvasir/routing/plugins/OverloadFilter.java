package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Filter;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.UnmetNeed;

/**
 * Removes workers that are overloaded by their engine's metrics, unless all of them are: those with {@code waiting}
 * (32) or more waiting requests, or {@code kv-use} (0.95) of their KV cache in use. The router's own bookings do not
 * include requests from other clients. Engines without metrics are not overloaded.
 */
final class OverloadFilter implements Filter {
  private final int waiting;
  private final double kvUse;

  OverloadFilter(Parameters parameters) {
    this.waiting = parameters.whole("waiting", 32, 1, 1_000_000);
    this.kvUse = parameters.number("kv-use", 0.95, 0, 1);
  }

  @Override
  public void filter(RoutingContext context, Candidates candidates) {
    if (!isAnyOverloaded(candidates)) {
      return;
    }
    boolean any = false;
    boolean all = true;
    for (int word = 0; word < candidates.live.length; word++) {
      long live = candidates.live[word];
      long overloaded = overloaded(candidates, word) & live;
      any |= overloaded != 0;
      all &= overloaded == live;
    }
    if (any && !all) {
      for (int word = 0; word < candidates.live.length; word++) {
        candidates.live[word] &= ~overloaded(candidates, word);
      }
    }
  }

  /** Whether any slot is, candidate or not: nearly never, and known sooner than a bit for each. */
  private boolean isAnyOverloaded(Candidates candidates) {
    int[] queued = candidates.waiting;
    double[] filled = candidates.kvUse;
    for (int slot = 0; slot < queued.length; slot++) {
      if (queued[slot] >= waiting || filled[slot] >= kvUse) {
        return true;
      }
    }
    return false;
  }

  private long overloaded(Candidates candidates, int word) {
    long bits = 0;
    for (int bit = 0; bit < Long.SIZE; bit++) {
      int slot = (word << 6) + bit;
      // The sign bit of the difference, so that there is no branch.
      int queued = (waiting - 1 - candidates.waiting[slot]) >>> 31;
      int filled = candidates.kvUse[slot] >= kvUse ? 1 : 0;
      bits |= (long) (queued | filled) << bit;
    }
    return bits;
  }

  @Override
  public UnmetNeed unmetNeed() {
    return UnmetNeed.ROOM;
  }
}
