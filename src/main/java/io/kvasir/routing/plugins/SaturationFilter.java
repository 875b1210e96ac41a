package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Filter;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.UnmetNeed;

/**
 * Removes busy workers while there are others: those with {@code in-flight} (8) or more requests, unless
 * that is all of them. A soft limit, to spread load before workers are full.
 */
final class SaturationFilter implements Filter {
  private final int inFlight;

  SaturationFilter(Parameters parameters) {
    this.inFlight = parameters.whole("in-flight", 8, 1, 1_000_000);
  }

  @Override
  public void filter(RoutingContext context, Candidates candidates) {
    boolean idle = false;
    for (int slot = candidates.next(0); slot >= 0 && !idle; slot = candidates.next(slot + 1)) {
      idle = candidates.inFlight[slot] < inFlight;
    }
    if (!idle) {
      return;
    }
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      if (candidates.inFlight[slot] >= inFlight) {
        candidates.remove(slot);
      }
    }
  }

  @Override
  public UnmetNeed unmetNeed() {
    return UnmetNeed.ROOM;
  }
}
