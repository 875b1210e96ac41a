package io.kvasir.execution.attempt;

import io.kvasir.execution.Call;
import io.kvasir.execution.ExecutionMetrics;
import io.kvasir.execution.ExecutionSettings;
import io.kvasir.execution.ExecutionSettings.Retries;
import io.kvasir.execution.Result;
import io.kvasir.telemetry.LogIds;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.function.DoubleSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides whether and when a request is retried, hedged or resumed: by the number of its tries, its deadline and the
 * node's {@link RetryBudget}s, which it draws from. Thread-safe.
 *
 * <p>A request under which the connections of several workers ended may be what ended the workers (a query of death):
 * it is tried on no other, and its {@link Quarantine} keeps the same request from any worker for a while. An engine
 * that dies for another reason cuts all its requests, so one of them is retried; only what was cut by the next worker,
 * too, is suspected.
 */
public final class RetryPolicy {
  private static final Logger LOG = LoggerFactory.getLogger(RetryPolicy.class);

  private final ExecutionSettings settings;
  private final RetryBudget budget;
  private final RetryBudget resumes;
  private final Quarantine quarantine;
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
    this.resumes = RetryBudget.ofResumes(settings.retries(), clock);
    this.metrics = metrics;
    this.clock = clock;
    this.random = random;
    this.quarantine = new Quarantine(settings.disconnects().quarantine(), clock);
  }

  /** The state of a request that begins now; it adds to the budget. */
  public RetryState begin(Call call) {
    budget.recordRequest();
    resumes.recordRequest();
    return new RetryState(call, clock.nanos() + settings.total().toNanos());
  }

  /** The result of a request that is refused before its first try, null when it may be tried. */
  public @Nullable Result refusal(RetryState begun) {
    if (!quarantine.contains(begun.call().http())) {
      return null;
    }
    metrics.quarantineRefused();
    return begun.quarantined();
  }

  /** Whether so many workers' connections have ended under the request that it must not be sent to another. */
  public boolean isLastDisconnect(RetryState state) {
    return state.counts().disconnects() >= settings.disconnects().most();
  }

  /** The result when nothing is left to try after a failure. */
  public Result exhausted(RetryState state, AttemptResult.Failed failure) {
    if (!isLastDisconnect(state)) {
      return state.exhausted(failure);
    }
    quarantine(state);
    return state.quarantined();
  }

  /**
   * A suspicion against a call that nobody tries again, to be run when the worker whose connection ended under it has
   * turned out to have died. The second one against the same request puts it into quarantine.
   */
  public Runnable suspicion(Call call) {
    if (call.http().upgrades()) {
      return () -> {};
    }
    Quarantine.Fingerprint fingerprint = quarantine.fingerprint(call.http());
    LogIds ids = call.logIds();
    return () -> {
      if (quarantine.suspect(fingerprint)) {
        quarantined(ids);
      }
    };
  }

  private void quarantine(RetryState state) {
    if (!state.call().http().upgrades() && quarantine.add(quarantine.fingerprint(state.call().http()))) {
      quarantined(state.call().logIds());
    }
  }

  private void quarantined(LogIds ids) {
    metrics.quarantined();
    ids.in(LOG.atWarn())
        .log("a request and the same ones are refused for a while: several workers' connections ended under them");
  }

  /** Takes a retry after a failure: the pause before it, or null when there must be none. */
  public @Nullable Duration acquireRetry(RetryState state, AttemptResult.Failed failure) {
    Retries limits = settings.retries();
    if (!failure.retryable() || state.tries() >= limits.tries()) {
      return null;
    }
    if (failure.kind() == FailureKind.UNKNOWN_MODEL && state.counts().unknownModels() > 1) {
      // The model is unknown to two workers: so it will be to others, and retries are few.
      return null;
    }
    boolean acquired = failure.kind() == FailureKind.STRANDED;
    if (isLastDisconnect(state)) {
      release(acquired);
      metrics.retryRefused("disconnects");
      return null;
    }
    double growing = (double) limits.firstPause().toNanos() * Math.pow(limits.pauseFactor(), state.tries() - 1);
    double longest = Math.min(growing, (double) limits.longestPause().toNanos());
    long pause = (long) (longest * (1 + random.getAsDouble()) / 2);
    if (state.deadline() - clock.nanos() <= pause) {
      release(acquired);
      return null;
    }
    if (!acquired && !budget.tryAcquire()) {
      metrics.retryRefused("budget");
      return null;
    }
    metrics.retried(failure.kind().label());
    return Duration.ofNanos(pause);
  }

  private void release(boolean acquired) {
    if (acquired) {
      budget.release();
    }
  }

  /**
   * Takes the retry of a request that is to leave its worker, of which nothing comes: false when there must be none.
   * Its {@link #acquireRetry} follows, which does not take it again.
   */
  public boolean acquireLeaving(RetryState state) {
    return state.call().rules().retryable() && state.tries() < settings.retries().tries() && budget.tryAcquire();
  }

  /** Whether a stream may be continued as far as the budget goes. */
  public boolean mayResume() {
    return resumes.hasRetry();
  }

  /** Takes a second attempt beside a slow one: false when there must be none. */
  public boolean acquireHedge() {
    return budget.tryAcquire();
  }

  /** Gives a second attempt back that was not made. */
  public void releaseHedge() {
    budget.release();
  }

  /** Takes the continuation of a stream that was cut: null, or why it must not be continued. */
  public @Nullable String acquireResume(RetryState state) {
    if (isLastDisconnect(state)) {
      quarantine(state);
      return "disconnects";
    }
    return state.deadline() - clock.nanos() <= 0 ? "overdue" : resumes.tryAcquire() ? null : "budget";
  }

  /** Gives a continuation back that turned out not to be possible. */
  public void releaseResume() {
    resumes.release();
  }

  /** Milliseconds since the request began. */
  public long elapsedMillis(RetryState state) {
    return (settings.total().toNanos() - (state.deadline() - clock.nanos())) / 1_000_000;
  }

  /** Time until the request's deadline, at least a nanosecond. */
  public Duration remaining(RetryState state) {
    return Duration.ofNanos(Math.max(1, state.deadline() - clock.nanos()));
  }
}
