package io.kvasir.execution.attempt;

import io.kvasir.execution.Call;
import io.kvasir.execution.ExecutionMetrics;
import io.kvasir.execution.ExecutionSettings;
import io.kvasir.execution.ExecutionSettings.Retries;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.function.DoubleSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Decides whether and when a request is retried, hedged or resumed: by the number of its tries, its deadline and the
 * node's {@link RetryBudget}, which it draws from. Thread-safe.
 */
public final class RetryPolicy {
  private final ExecutionSettings settings;
  private final RetryBudget budget;
  private final ExecutionMetrics metrics;
  private final NanoClock clock;
  private final DoubleSupplier random;

  /**
   * The policy of a node.
   *
   * @param random uniform in 0..1: spreads retries of requests that failed together
   */
  public RetryPolicy(
      ExecutionSettings settings,
      RetryBudget budget,
      ExecutionMetrics metrics,
      NanoClock clock,
      DoubleSupplier random) {
    this.settings = settings;
    this.budget = budget;
    this.metrics = metrics;
    this.clock = clock;
    this.random = random;
  }

  /** The state of a request that begins now; it adds to the budget. */
  public RetryState begin(Call call) {
    budget.recordRequest();
    return new RetryState(
        call.decision().requestId(),
        clock.nanos() + settings.total().toNanos(),
        call.decision().constraints().excluded());
  }

  /** Takes a retry after a failure: the pause before it, or null when there must be none. */
  public @Nullable Duration acquireRetry(RetryState state, AttemptResult.Failed failure) {
    Retries limits = settings.retries();
    if (!failure.retryable() || state.tries() >= limits.tries()) {
      return null;
    }
    double growing = (double) limits.firstPause().toNanos() * Math.pow(limits.pauseFactor(), state.tries() - 1);
    double longest = Math.min(growing, (double) limits.longestPause().toNanos());
    long pause = (long) (longest * (1 + random.getAsDouble()) / 2);
    if (state.deadline() - clock.nanos() <= pause) {
      return null;
    }
    if (!budget.tryAcquire()) {
      metrics.retryRefused("budget");
      return null;
    }
    metrics.retried(failure.why());
    return Duration.ofNanos(pause);
  }

  /** Takes a second attempt beside a slow one: false when there must be none. */
  public boolean acquireHedge() {
    return budget.tryAcquire();
  }

  /** Takes the continuation of a stream that was cut: null, or why it must not be continued. */
  public @Nullable String acquireResume(RetryState state) {
    return state.deadline() - clock.nanos() <= 0 ? "overdue" : budget.tryAcquire() ? null : "budget";
  }

  /** Time until the request's deadline, at least a nanosecond. */
  public Duration remaining(RetryState state) {
    return Duration.ofNanos(Math.max(1, state.deadline() - clock.nanos()));
  }
}
