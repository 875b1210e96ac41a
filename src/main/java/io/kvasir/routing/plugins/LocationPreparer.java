package io.kvasir.routing.plugins;

import io.kvasir.routing.Location;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.Preparer;
import io.kvasir.routing.RequestFacts;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import java.util.Set;

/**
 * The location of a request: the client's {@code region-header}, {@code zone-header} and {@code host-header}, each
 * where it is configured and sent, else the router node's own {@code region}, {@code zone} and {@code host} (nothing).
 * A node's own are best taken from its environment: {@code zone = ${?ZONE}}.
 */
final class LocationPreparer implements Preparer {
  private static final int MAX_LENGTH = 128;

  private final LocationPart region;
  private final LocationPart zone;
  private final LocationPart host;

  LocationPreparer(Parameters parameters) {
    this.region = LocationPart.of(parameters, "region");
    this.zone = LocationPart.of(parameters, "zone");
    this.host = LocationPart.of(parameters, "host");
  }

  @Override
  public void prepare(RoutingContext context) {
    RequestFacts facts = context.facts();
    context.put(Slots.LOCATION, new Location(region.of(facts), zone.of(facts), host.of(facts)));
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(Slots.FACTS);
  }

  @Override
  public Set<Slot<?>> writes() {
    return Set.of(Slots.LOCATION);
  }

  /** One part of a location: the node's own, and the header with the client's, empty for none. */
  private record LocationPart(String own, String header) {
    static LocationPart of(Parameters parameters, String name) {
      return new LocationPart(parameters.text(name, ""), parameters.text(name + "-header", ""));
    }

    String of(RequestFacts facts) {
      String sent = header.isEmpty() ? null : facts.header(header);
      return sent == null || sent.length() > MAX_LENGTH ? own : sent;
    }
  }
}
