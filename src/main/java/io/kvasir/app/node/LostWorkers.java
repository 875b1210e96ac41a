package io.kvasir.app.node;

import io.kvasir.cell.WorkerStatus.Health;
import io.kvasir.cell.WorkerSummary;
import io.kvasir.telemetry.Problem;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Finds the workers whose requests others have to take: those of models that nobody serves are worse. */
final class LostWorkers {
  private static final int MAX_NAMED = 5;

  private LostWorkers() {}

  /** One problem for all of them; empty when there is none. */
  static Optional<Problem> problem(List<WorkerSummary> workers) {
    Set<String> served = new HashSet<>();
    for (WorkerSummary worker : workers) {
      if (worker.health() == Health.HEALTHY && !worker.draining()) {
        served.addAll(worker.models());
      }
    }
    List<String> lost =
        workers.stream()
            .filter(worker -> worker.health() != Health.HEALTHY && served.containsAll(worker.models()))
            .map(WorkerSummary::id)
            .sorted()
            .toList();
    if (lost.isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        Problem.warning(
            "%,d of %,d workers are not well and get nothing, others take their requests: %s".formatted(
                lost.size(), workers.size(), Problem.named(lost, MAX_NAMED)),
            "see that their engines run; remove those that will not come back (kvasir admin workers remove POD): GET"
                + " /admin/workers says what is wrong with each"));
  }
}
