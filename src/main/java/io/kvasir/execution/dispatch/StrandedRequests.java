package io.kvasir.execution.dispatch;

import io.kvasir.cell.Cells;
import io.kvasir.cell.WorkerStatus.Health;
import io.kvasir.cell.WorkerSummary;
import io.kvasir.execution.Call;
import io.kvasir.execution.attempt.Rescue;
import io.kvasir.execution.attempt.RetryPolicy;
import io.kvasir.execution.attempt.RetryState;
import io.kvasir.routing.Role;
import io.kvasir.routing.Worker;
import io.kvasir.time.NanoClock;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Requests at workers that are out of service while others could do the same: a host that is gone or an engine that
 * hangs leaves its connections open, and nothing will come of them. Such a request leaves its worker when it may be
 * tried again, a stream that has begun when it may be continued. An engine that answers and reports nothing of its KV
 * cache may be silent over a long prompt: what it has stays there.
 *
 * <p>Where nobody else could serve, it stays: whatever stands still may move again. Thread-safe.
 */
final class StrandedRequests implements Rescue {
  /** What is known of the workers is gathered at most so often. */
  private static final long AGE_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final Cells cells;
  private final RetryPolicy retries;
  private final NanoClock clock;
  private volatile Fleet known;

  /**
   * The ids of workers that are out of service, and those that are well by what they do, as of some time.
   */
  private record Fleet(Set<String> lost, Map<Work, List<WorkerSummary>> well, long gatheredNanos) {
    static Fleet unknown(long nanos) {
      return new Fleet(Set.of(), Map.of(), nanos);
    }
  }

  /** What workers do that could replace each other. */
  private record Work(Role role, String model) {}

  StrandedRequests(Cells cells, RetryPolicy retries, NanoClock clock) {
    this.cells = cells;
    this.retries = retries;
    this.clock = clock;
    this.known = Fleet.unknown(clock.nanos() - AGE_NANOS);
  }

  @Override
  public boolean leaves(Worker worker, RetryState state, boolean begun) {
    Fleet fleet = fleet();
    return fleet.lost().contains(worker.id())
        && isReplaceable(worker, state, fleet)
        && (begun ? isContinued(state.call()) && retries.mayResume() : retries.acquireLeaving(state));
  }

  /** Whether a worker of another pod is well that does the same and that the request may go to. */
  private static boolean isReplaceable(Worker worker, RetryState state, Fleet fleet) {
    Work work = new Work(worker.role(), state.call().decision().model());
    return fleet.well().getOrDefault(work, List.of()).stream()
        .anyMatch(other -> !other.pod().equals(worker.pod()) && !state.excluded().contains(other.id()));
  }

  private static boolean isContinued(Call call) {
    return call.maxResumes() > 0 && call.decision().stream() && Resumption.continuable(call.http().target()) != null;
  }

  private Fleet fleet() {
    Fleet before = known;
    long now = clock.nanos();
    if (now - before.gatheredNanos() < AGE_NANOS) {
      return before;
    }
    Fleet gathered = gather(now);
    known = gathered;
    return gathered;
  }

  private Fleet gather(long now) {
    Set<String> lost = new HashSet<>();
    Map<Work, List<WorkerSummary>> well = new HashMap<>();
    for (WorkerSummary worker : cells.workers()) {
      if (isLost(worker)) {
        lost.add(worker.id());
      } else if (worker.health() == Health.HEALTHY && !worker.draining()) {
        worker.models().forEach(model ->
            well.computeIfAbsent(new Work(worker.role(), model), _ -> new ArrayList<>()).add(worker));
      }
    }
    return new Fleet(lost, well, now);
  }

  private boolean isLost(WorkerSummary worker) {
    return switch (worker.health()) {
      case UNHEALTHY -> true;
      case WEDGED -> cells.learntEngine(worker.pod()).reportsCacheUse();
      case HEALTHY, UNKNOWN -> false;
    };
  }
}
