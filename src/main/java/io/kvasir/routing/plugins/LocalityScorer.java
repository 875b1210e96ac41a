package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Scorer;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import io.kvasir.routing.Worker;
import java.util.List;
import java.util.Set;

/**
 * How near a worker is to where the request comes from, by its labels {@code region-label} (region), {@code zone-label}
 * (zone) and {@code host-label} (host): {@code same-host} (1), {@code same-zone} (0.6), {@code same-region} (0.3), or
 * 0.
 */
final class LocalityScorer implements Scorer {
  private final List<String> labels;
  private final double[] worth;
  private final PerMembershipAndText<double[]> nearness = new PerMembershipAndText<>(this::nearness);

  LocalityScorer(Parameters parameters) {
    // From near to far, the opposite of how a location is written.
    this.labels =
        List.of(
            parameters.text("host-label", "host"),
            parameters.text("zone-label", "zone"),
            parameters.text("region-label", "region"));
    this.worth =
        new double[] {
          parameters.number("same-host", 1, 0, 1),
          parameters.number("same-zone", 0.6, 0, 1),
          parameters.number("same-region", 0.3, 0, 1)
        };
  }

  private double[] nearness(Worker[] table, String location) {
    List<String> here = List.of(location.split("\n", -1)).reversed();
    double[] nearness = new double[table.length];
    for (int slot = 0; slot < table.length; slot++) {
      if (table[slot] != null) {
        nearness[slot] = nearness(table[slot], here);
      }
    }
    return nearness;
  }

  private double nearness(Worker worker, List<String> here) {
    for (int i = 0; i < labels.size() && i < here.size(); i++) {
      if (!here.get(i).isEmpty() && here.get(i).equals(worker.labels().get(labels.get(i)))) {
        return worth[i];
      }
    }
    return 0;
  }

  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    double[] nearness = this.nearness.of(candidates, context.get(Slots.LOCATION));
    System.arraycopy(nearness, 0, out, 0, nearness.length);
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
