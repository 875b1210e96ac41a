package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Filter;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.UnmetNeed;

/**
 * Removes saturated workers, those with {@code in-flight} (8) or more requests, unless all of them are saturated. A
 * soft limit, to spread load before workers are full.
 */
final class SaturationFilter implements Filter {
  private final int inFlight;

  SaturationFilter(Parameters parameters) {
    this.inFlight = parameters.whole("in-flight", 8, 1, 1_000_000);
  }

  @Override
  public void filter(RoutingContext context, Candidates candidates) {
    boolean anyBelow = false;
    for (int slot = candidates.next(0); slot >= 0 && !anyBelow; slot = candidates.next(slot + 1)) {
      anyBelow = candidates.inFlight[slot] < inFlight;
    }
    if (!anyBelow) {
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
