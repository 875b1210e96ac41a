package io.kvasir.app.node;

import io.kvasir.cell.WorkerSummary;
import io.kvasir.telemetry.Problem;
import java.net.URI;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * Finds engines that are there as several pods, such as one of the configuration that was added by its address again.
 * Nothing fails, but such an engine is taken for two: it gets twice what it should, and of each half the other one's
 * load and cached blocks count for nothing. One engine may well be several pods of different models.
 */
final class DoubledEngines {
  private static final int MAX_NAMED = 3;

  private DoubledEngines() {}

  /** One problem for all of them; empty when there is none. */
  static Optional<Problem> problem(List<WorkerSummary> workers) {
    Map<Served, Set<String>> pods = new HashMap<>();
    for (WorkerSummary worker : workers) {
      if (!worker.draining()) {
        for (String model : worker.models()) {
          pods.computeIfAbsent(new Served(worker.url(), model), _ -> new TreeSet<>()).add(worker.pod());
        }
      }
    }
    List<String> doubled =
        pods.entrySet().stream()
            .filter(served -> served.getValue().size() > 1)
            .map(served -> served.getKey().url() + " (" + String.join(", ", served.getValue()) + ")")
            .distinct()
            .sorted()
            .toList();
    if (doubled.isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        Problem.warning(
            "one engine is there as several pods and gets requests as if it were as many: "
                + Problem.named(doubled, MAX_NAMED),
            "keep one pod of each engine: take the others out of the configuration, or remove those that were added"
                + " (kvasir admin workers remove POD)"));
  }

  /** A model as one engine serves it. */
  private record Served(URI url, String model) {}
}
