package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Location;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Scorer;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import io.kvasir.routing.Worker;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Proximity of a worker to the request's location, by the worker's labels {@code region-label} (region), {@code
 * zone-label} (zone) and {@code host-label} (host): {@code same-host} (1), {@code same-zone} (0.6), {@code same-region}
 * (0.3), or 0.
 */
final class LocalityScorer implements Scorer {
  private final String regionLabel;
  private final String zoneLabel;
  private final String hostLabel;
  private final double sameRegion;
  private final double sameZone;
  private final double sameHost;
  private final PerMembershipAndKey<Location, double[]> proximity = new PerMembershipAndKey<>(this::proximity);

  LocalityScorer(Parameters parameters) {
    this.regionLabel = parameters.text("region-label", "region");
    this.zoneLabel = parameters.text("zone-label", "zone");
    this.hostLabel = parameters.text("host-label", "host");
    this.sameRegion = parameters.number("same-region", 0.3, 0, 1);
    this.sameZone = parameters.number("same-zone", 0.6, 0, 1);
    this.sameHost = parameters.number("same-host", 1, 0, 1);
  }

  private double[] proximity(Worker[] table, Location location) {
    double[] scores = new double[table.length];
    for (int slot = 0; slot < table.length; slot++) {
      if (table[slot] != null) {
        scores[slot] = proximity(table[slot].labels(), location);
      }
    }
    return scores;
  }

  private double proximity(Map<String, String> labels, Location location) {
    return isSame(location.host(), labels.get(hostLabel)) ? sameHost
        : isSame(location.zone(), labels.get(zoneLabel)) ? sameZone
        : isSame(location.region(), labels.get(regionLabel)) ? sameRegion
        : 0;
  }

  private static boolean isSame(String part, @Nullable String label) {
    return !part.isEmpty() && part.equals(label);
  }

  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    double[] scores = proximity.of(candidates, context.get(Slots.LOCATION));
    System.arraycopy(scores, 0, out, 0, scores.length);
  }

  @Override
  public Direction direction() {
    return Direction.HIGHER;
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(Slots.LOCATION);
  }
}
