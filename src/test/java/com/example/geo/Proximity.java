package com.example.geo;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.PerMembership;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Scorer;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Worker;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Kilometres between the client and a worker, whose coordinates stand in its {@code label} (coordinates). A worker
 * without them counts as the farthest; of a client that does not say where it is all are as near.
 */
final class Proximity implements Scorer {
  private final String label;

  /** Labels are read once per change of the fleet, not once per request. */
  private final PerMembership<@Nullable Coordinates[]> places;

  Proximity(Parameters parameters) {
    this.label = parameters.text("label", "coordinates");
    this.places = new PerMembership<>(this::places);
  }

  private @Nullable Coordinates[] places(Worker[] table) {
    @Nullable Coordinates[] found = new @Nullable Coordinates[table.length];
    for (int slot = 0; slot < table.length; slot++) {
      found[slot] = table[slot] == null ? null : Coordinates.of(table[slot].labels().get(label));
    }
    return found;
  }

  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    Coordinates client = Coordinates.of(context.get(ClientCoordinates.COORDINATES));
    @Nullable Coordinates[] fleet = places.of(candidates);
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      Coordinates worker = fleet[slot];
      out[slot] = client == null ? 0 : worker == null ? Double.POSITIVE_INFINITY : client.kilometresTo(worker);
    }
  }

  @Override
  public Direction direction() {
    return Direction.LOWER;
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(ClientCoordinates.COORDINATES);
  }
}
