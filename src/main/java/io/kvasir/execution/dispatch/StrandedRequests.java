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
  private volatile Replaceable known;

  /** The ids of workers that are out of service and that others could replace, as of some time. */
  private record Replaceable(Set<String> workers, long gatheredNanos) {}

  /** What workers do that could replace each other. */
  private record Work(Role role, String model) {}

  StrandedRequests(Cells cells, RetryPolicy retries, NanoClock clock) {
    this.cells = cells;
    this.retries = retries;
    this.clock = clock;
    this.known = new Replaceable(Set.of(), clock.nanos() - AGE_NANOS);
  }

  @Override
  public boolean leaves(Worker worker, RetryState state, boolean begun) {
    return replaceable().contains(worker.id())
        && (begun ? isContinued(state.call()) && retries.mayResume() : retries.acquireLeaving(state));
  }

  private static boolean isContinued(Call call) {
    return call.maxResumes() > 0 && call.decision().stream() && Resumption.continuable(call.http().target()) != null;
  }

  private Set<String> replaceable() {
    Replaceable before = known;
    long now = clock.nanos();
    if (now - before.gatheredNanos() < AGE_NANOS) {
      return before.workers();
    }
    Set<String> gathered = gather();
    known = new Replaceable(gathered, now);
    return gathered;
  }

  private Set<String> gather() {
    List<WorkerSummary> workers = cells.workers();
    Map<Work, Set<String>> ablePods = new HashMap<>();
    for (WorkerSummary worker : workers) {
      if (worker.health() == Health.HEALTHY && !worker.draining()) {
        worker.models().forEach(model ->
            ablePods.computeIfAbsent(new Work(worker.role(), model), _ -> new HashSet<>()).add(worker.pod()));
      }
    }
    Set<String> replaceable = new HashSet<>();
    for (WorkerSummary worker : workers) {
      if (isLost(worker)
          && worker.models().stream()
              .map(model -> ablePods.getOrDefault(new Work(worker.role(), model), Set.of()))
              .anyMatch(pods -> pods.size() > (pods.contains(worker.pod()) ? 1 : 0))) {
        replaceable.add(worker.id());
      }
    }
    return replaceable;
  }

  private boolean isLost(WorkerSummary worker) {
    return switch (worker.health()) {
      case UNHEALTHY -> true;
      case WEDGED -> cells.learntEngine(worker.pod()).reportsCacheUse();
      case HEALTHY, UNKNOWN -> false;
    };
  }
}
