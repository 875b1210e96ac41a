package io.kvasir.cell.worker;

import io.kvasir.cell.CellSettings.HealthSettings;
import io.kvasir.cell.WorkerStatus.Health;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Whether requests may go to a worker: its pod can be reached ({@link Reachability}), it moves ({@link StallDetector})
 * and does not answer with errors ({@link CircuitBreaker}). Thread-safe; time comes in, in nanoseconds.
 */
public final class WorkerHealth {
  private final Reachability reachability;
  private final StallDetector stallDetector;
  private final CircuitBreaker breaker;
  private Health lastReported = Health.UNKNOWN;

  /** A worker's state, and why it gets nothing; empty while it is well. */
  public record State(Health health, String reason) {}

  /** A worker that has not been heard of. What changes is told to {@code revision}. */
  public WorkerHealth(HealthSettings settings, Reachability contact, long now, ChangeCounter revision) {
    this.reachability = contact;
    this.stallDetector = new StallDetector(settings.stall(), now, revision);
    this.breaker = new CircuitBreaker(settings, revision);
  }

  /** Whether its pod can be reached; shared with the pod's other ranks. */
  public Reachability reachability() {
    return reachability;
  }

  /** Whether it moves. */
  public StallDetector stallDetector() {
    return stallDetector;
  }

  /** Whether it answers with errors. */
  public CircuitBreaker breaker() {
    return breaker;
  }

  /** Whether requests may go there as far as its {@link #breaker} passes them. */
  boolean isHealthy() {
    return reachability.isReachable() && !stallDetector.wedged();
  }

  State state(long now) {
    return !reachability.isReachable() ? new State(reachability.state(), reachability.reason())
        : stallDetector.wedged()
            ? new State(
                Health.WEDGED,
                "it has requests and nothing has come of them for %d ms"
                    .formatted(TimeUnit.NANOSECONDS.toMillis(stallDetector.stalledFor(now))))
        : !breaker.permits(now) ? new State(Health.UNHEALTHY, "its circuit is open after a run of error answers")
        : new State(Health.HEALTHY, "");
  }

  /** Its state if it is another than when this was last asked, otherwise null. Asked by the cell's actor alone. */
  public @Nullable State pollChange(long now) {
    State state = state(now);
    if (state.health() == lastReported) {
      return null;
    }
    lastReported = state.health();
    return state;
  }

  /** An answer came that was not the worker's failure. */
  public void onSuccess(long now) {
    reachability.onSuccess();
    breaker.onSuccess();
    stallDetector.progressed(now);
  }

  /** The worker answered with an error of its own. */
  public void onFailure(long now) {
    breaker.onFailure(now);
  }
}
