package io.kvasir.cell;

import io.kvasir.admission.ModelBacklog;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The requests of a node that no cell has: those that were refused because the fleet lacks capacity, and those that
 * wait for the first worker of their model. Immutable.
 *
 * @param refused how many were refused since the last time, by the model that they name
 * @param waiting those that wait now, by that model
 */
public record UnservedDemand(Map<String, Integer> refused, List<ModelBacklog> waiting) {
  /** There are none. */
  public static final UnservedDemand NONE = new UnservedDemand(Map.of(), List.of());

  /** Copies both; takes what a node of another version lacks as none. */
  public UnservedDemand {
    refused = Map.copyOf(Objects.requireNonNullElse(refused, Map.of()));
    waiting = List.copyOf(Objects.requireNonNullElse(waiting, List.of()));
  }

  /** Whether there are none. */
  public boolean isEmpty() {
    return refused.isEmpty() && waiting.isEmpty();
  }
}
