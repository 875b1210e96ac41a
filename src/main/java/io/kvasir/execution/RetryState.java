package io.kvasir.execution;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.ExecutionSettings.Retries;
import io.kvasir.routing.Worker;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What a request has been through, and what the client is told when it leads nowhere. One thread at a time. */
public final class RetryState {
  private static final Logger LOG = LoggerFactory.getLogger(RetryState.class);

  private final Call call;
  private final ExecutionServices services;
  private final RetryBudget budget;
  private final long deadline;
  /** Read when a stream is resumed, while a workflow may still hear of a leg it has stopped. */
  private final Set<String> excluded = ConcurrentHashMap.newKeySet();
  private RetryCounts counts;

  private @Nullable Worker lastWorker;
  private Attempt.AttemptResult.@Nullable Failed lastFailure;
  private Result.@Nullable Buffered lastAnswer;

  public RetryState(Call call, ExecutionServices means, RetryBudget budget) {
    this(call, means, budget, System.nanoTime() + means.settings().total().toNanos(), RetryCounts.NONE);
  }

  private RetryState(Call call, ExecutionServices means, RetryBudget budget, long deadline, RetryCounts tally) {
    this.call = call;
    this.services = means;
    this.budget = budget;
    this.deadline = deadline;
    this.counts = tally;
    this.excluded.addAll(call.decision().excluded());
  }

  /** Why a stream that was cut may not be resumed; null when it may, and a retry is taken from the budget then. */
  @Nullable public String acquireResume(Report cut) {
    if (cut.worker() != null) {
      exclude(cut.worker(), cut.outcome() instanceof Outcome.Failed(boolean transport, String _) && transport);
    }
    return deadline - System.nanoTime() <= 0 ? "overdue"
        : budget.tryAcquire(System.nanoTime()) ? null
        : "budget";
  }

  /** The trials of the call that continues a stream: the same time, the next try. */
  public RetryState forResumption(Call continuing, Report cut) {
    return new RetryState(continuing, services, budget, deadline, new RetryCounts(cut.tries(), cut.decideNanos()));
  }

  /** When the whole request must be over, in {@link System#nanoTime}. */
  public long deadline() {
    return deadline;
  }

  public RetryCounts counts() {
    return counts;
  }

  /** Workers that are not to be asked, by their ids. */
  public Set<String> excluded() {
    return Set.copyOf(excluded);
  }

  public void recordDecision(long nanos) {
    counts = counts.withDecision(nanos);
  }

  /** A plan, or a step decided anew, is about to be tried; {@code worker} is the one that will answer. */
  public void recordTry(Worker worker) {
    counts = counts.withTry();
    lastWorker = worker;
  }

  /** A worker has failed. */
  public void recordFailure(Worker worker, Attempt.AttemptResult.Failed failure) {
    LOG.warn("request {} try {} at worker {} failed ({}): {}",
        call.decision().requestId(), counts.tries(), worker.id(), failure.why(), failure.detail());
    exclude(worker, failure.transport());
    lastWorker = worker;
    lastFailure = failure;
    if (failure.errorResponse() != null) {
      lastAnswer = failure.errorResponse();
    }
  }

  /** A pod that cannot be reached is not tried again rank by rank. */
  private void exclude(Worker worker, boolean wholePod) {
    excluded.add(worker.id());
    if (wholePod && worker.ranks() > 1) {
      for (int rank = 0; rank < worker.ranks(); rank++) {
        excluded.add(worker.pod() + "#" + rank);
      }
    }
  }

  /** How long to wait before the next try; null when there is none to be. Counts it where there is. */
  @Nullable public Duration acquireRetry(Attempt.AttemptResult.Failed failure) {
    Retries limits = services.settings().retries();
    if (!failure.retryable() || counts.tries() >= limits.tries()) {
      return null;
    }
    double longest = (double) limits.firstPause().toNanos() * Math.pow(limits.pauseFactor(), counts.tries() - 1);
    double whole = Math.min(longest, (double) limits.longestPause().toNanos());
    long nanos = (long) (whole * ThreadLocalRandom.current().nextDouble(0.5, 1.0));
    if (deadline - System.nanoTime() <= nanos) {
      return null;
    }
    if (!budget.tryAcquire(System.nanoTime())) {
      services.metrics().retryRefused("budget");
      return null;
    }
    services.metrics().retried(failure.why());
    return Duration.ofNanos(nanos);
  }

  /** Whether a second worker may be asked, too. */
  public boolean acquireHedge() {
    return budget.tryAcquire(System.nanoTime());
  }

  public Duration remaining() {
    return Duration.ofNanos(Math.max(1, deadline - System.nanoTime()));
  }

  // What the client is told.

  public Result clientCancelled() {
    return new Result.ClientCancelled(report(new Outcome.Cancelled()));
  }

  public Result noWorker(Decision.NoWorker none) {
    return lastFailure == null ? new Result.NoWorker(none, report(null)) : exhausted(lastFailure);
  }

  /** The result when nothing is left to try: the last answer of a worker, or that none was reached. */
  public Result exhausted(Attempt.AttemptResult.Failed failed) {
    return lastAnswer != null
        ? lastAnswer
        : new Result.Unreachable(
            failed.timedOut(), failed.why(), report(new Outcome.Failed(failed.transport(), failed.detail())));
  }

  public Result timedOut() {
    return new Result.Unreachable(true, "timeout", report(new Outcome.Failed(false, AbortReason.TOTAL_TIMEOUT.text())));
  }

  private Report report(@Nullable Outcome outcome) {
    return new Report(
        lastWorker, outcome, counts.tries(), 0, 0, Outcome.UNKNOWN, Outcome.UNKNOWN, Outcome.UNKNOWN,
        counts.decideNanos(), 0);
  }

  /** {@code X-Request-Id} of the try that would be next: engines may choke on one they have seen. */
  public String nextRequestId() {
    String id = call.decision().requestId();
    return counts.tries() == 0 ? id : id + "-" + (counts.tries() + 1);
  }
}
