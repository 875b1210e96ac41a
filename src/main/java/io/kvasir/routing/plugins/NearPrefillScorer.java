package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Scorer;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import io.kvasir.routing.Worker;
import java.util.Set;

/**
 * Score of a worker's proximity to that of the plan's other step: 1 on the same host, 0.5 where both have the same
 * value of a label, else 0; 0 for all when there is no other.
 *
 * <ul>
 *   <li>{@code label} (zone): the label.
 * </ul>
 */
final class NearPrefillScorer implements Scorer {
  private final String label;

  NearPrefillScorer(Parameters parameters) {
    this.label = parameters.text("label", "zone");
  }

  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    Worker other = context.get(Slots.PARTNER).worker();
    String value = other == null ? null : other.labels().get(label);
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      Worker worker = candidates.workers[slot];
      boolean sameHost = other != null && other.url().getHost().equals(worker.url().getHost());
      out[slot] = sameHost ? 1 : value != null && value.equals(worker.labels().get(label)) ? 0.5 : 0;
    }
  }

  @Override
  public Direction direction() {
    return Direction.HIGHER;
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(Slots.PARTNER);
  }
}
