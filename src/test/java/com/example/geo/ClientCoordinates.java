package com.example.geo;

import io.kvasir.routing.InvalidRoutingHintException;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.Preparer;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import java.util.Set;

/**
 * Where the client is, by {@code header} (X-Client-Coordinates) as {@code 59.33,18.07}; empty when it does not say.
 * Runs where the request arrives; the text crosses to the node that decides.
 */
final class ClientCoordinates implements Preparer {
  /** What {@link Proximity} reads. */
  static final Slot<String> COORDINATES = Slot.of("client-coordinates", String.class);

  private final String header;

  ClientCoordinates(Parameters parameters) {
    this.header = parameters.text("header", "X-Client-Coordinates");
  }

  @Override
  public void prepare(RoutingContext context) {
    String told = context.facts().header(header);
    if (told != null && Coordinates.of(told) == null) {
      throw new InvalidRoutingHintException(
          "Header %s is '%s'; give latitude and longitude in degrees, such as 59.33,18.07.".formatted(header, told));
    }
    context.put(COORDINATES, told == null ? "" : told);
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(Slots.FACTS);
  }

  @Override
  public Set<Slot<?>> writes() {
    return Set.of(COORDINATES);
  }
}
