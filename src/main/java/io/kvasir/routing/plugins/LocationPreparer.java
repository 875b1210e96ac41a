package io.kvasir.routing.plugins;

import io.kvasir.routing.Parameters;
import io.kvasir.routing.Preparer;
import io.kvasir.routing.RequestFacts;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import java.util.Set;

/**
 * Where the request comes from: the client's {@code region-header}, {@code zone-header} and {@code host-header}, each
 * where it is configured and sent, else the router node's own {@code region}, {@code zone} and {@code host} (nothing).
 * A node's own are best taken from its environment: {@code zone = ${?ZONE}}.
 */
final class LocationPreparer implements Preparer {
  private static final int LONGEST = 128;

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
    context.put(Slots.LOCATION, region.of(facts) + '\n' + zone.of(facts) + '\n' + host.of(facts));
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(Slots.FACTS);
  }

  @Override
  public Set<Slot<?>> writes() {
    return Set.of(Slots.LOCATION);
  }

  /** One part of an address: the node's own, and the header in which clients tell theirs, empty for none. */
  private record LocationPart(String own, String header) {
    static LocationPart of(Parameters parameters, String name) {
      return new LocationPart(parameters.text(name, ""), parameters.text(name + "-header", ""));
    }

    String of(RequestFacts facts) {
      String told = header.isEmpty() ? null : facts.header(header);
      return told == null || told.length() > LONGEST ? own : told.replace('\n', ' ');
    }
  }
}
