package io.kvasir.app.node;

import io.kvasir.cell.WorkerStatus.Health;
import io.kvasir.cell.WorkerSummary;
import io.kvasir.telemetry.Problem;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * Derives readiness from the health of the workers. A node that has just started waits until it knows how they are:
 * before, it would refuse requests that it can serve a moment later. Workers that come later are no reason to wait:
 * every node learns of them at once, and all would be unready together. Thread-safe.
 */
final class WorkerReadiness {
  private final Supplier<List<WorkerSummary>> workers;
  private final WorkerWaits waits;
  private final long limitNanos;
  private final NanoClock clock;
  // Guarded by this.
  private boolean waiting;
  private long waitingSince;
  private boolean over;

  /**
   * The readiness of a node that knows of no worker yet.
   *
   * @param limit how long a probe may take; when the first worker has answered, the others are waited for no longer
   */
  WorkerReadiness(Supplier<List<WorkerSummary>> workers, WorkerWaits waits, Duration limit, NanoClock clock) {
    this.workers = workers;
    this.waits = waits;
    this.limitNanos = limit.toNanos();
    this.clock = clock;
  }

  /** The wait of a node that has just started, from when it is in the cluster; empty once that is over, for good. */
  synchronized Optional<Problem> obstacle() {
    if (over) {
      return Optional.empty();
    }
    List<WorkerSummary> expected = workers.get().stream().filter(worker -> !worker.draining()).toList();
    long unknown = expected.stream().filter(worker -> !isKnown(worker)).count();
    long now = clock.nanos();
    // Where nothing is known of any worker the cells have no homes yet, and no probe has begun.
    if (!waiting && (expected.isEmpty() || unknown < expected.size())) {
      waiting = true;
      waitingSince = now;
    }
    // A node that knows of no worker may just not have heard of them.
    over = waiting && ((unknown == 0 && !expected.isEmpty()) || now - waitingSince >= limitNanos);
    return over || unknown == 0
        ? Optional.empty()
        : Optional.of(Problem.error(
            unknown + " workers have not been probed yet",
            "wait a moment: each is asked within the interval of probes (kvasir.cell.health)"));
  }

  /** A node that knows how its workers are is ready even where none of them can serve: others can no better. */
  List<Problem> degradations() {
    List<WorkerSummary> all = workers.get();
    List<WorkerSummary> known = all.stream().filter(WorkerReadiness::isKnown).toList();
    return known.isEmpty() && !all.isEmpty()
        ? List.of()
        : Stream.of(
                UnservedModels.problems(known, waits).stream(), LostWorkers.problem(known).stream(),
                DoubledEngines.problem(all).stream())
            .flatMap(problems -> problems)
            .toList();
  }

  private static boolean isKnown(WorkerSummary worker) {
    return worker.health() != Health.UNKNOWN;
  }
}
