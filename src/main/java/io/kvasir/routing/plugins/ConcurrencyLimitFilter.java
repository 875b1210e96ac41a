package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Filter;
import io.kvasir.routing.PerMembership;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.UnmetNeed;
import java.util.Arrays;

/**
 * Removes the workers at their limit of requests in flight. Booking would refuse them anyway; removing them first
 * avoids a booking attempt per worker in an overloaded fleet.
 */
final class ConcurrencyLimitFilter implements Filter {
  private final PerMembership<int[]> limits =
      new PerMembership<>(
          table ->
              Arrays.stream(table)
                  .mapToInt(worker -> worker == null ? Integer.MAX_VALUE : worker.maxInFlight())
                  .toArray());

  @Override
  public void filter(RoutingContext context, Candidates candidates) {
    int[] limit = limits.of(candidates);
    int[] inFlight = candidates.inFlight;
    int allBelow = -1;
    for (int slot = 0; slot < limit.length; slot++) {
      allBelow &= inFlight[slot] - limit[slot];
    }
    if (allBelow < 0) {
      return;
    }
    for (int word = 0; word < candidates.live.length; word++) {
      long room = 0;
      for (int bit = 0; bit < Long.SIZE; bit++) {
        int slot = (word << 6) + bit;
        // The sign bit of the difference, so that there is no branch.
        room |= (long) ((inFlight[slot] - limit[slot]) >>> 31) << bit;
      }
      candidates.live[word] &= room;
    }
  }

  @Override
  public UnmetNeed unmetNeed() {
    return UnmetNeed.ROOM;
  }
}
