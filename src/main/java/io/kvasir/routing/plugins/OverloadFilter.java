package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Filter;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Want;

/**
 * Removes workers that are overloaded by their engine's own word, unless that is all of them: those with
 * {@code waiting} (32) or more requests that wait for a place, or {@code kv-use} (0.95) of their KV cache in use. The
 * router's own bookings say nothing of what others send there. Engines that do not tell are not overloaded.
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
    boolean any = false;
    boolean all = true;
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      boolean overloaded = overloaded(candidates, slot);
      any |= overloaded;
      all &= overloaded;
    }
    if (!any || all) {
      return;
    }
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      if (overloaded(candidates, slot)) {
        candidates.remove(slot);
      }
    }
  }

  private boolean overloaded(Candidates candidates, int slot) {
    return candidates.waiting[slot] >= waiting || candidates.kvUse[slot] >= kvUse;
  }

  @Override
  public Want want() {
    return Want.ROOM;
  }
}
