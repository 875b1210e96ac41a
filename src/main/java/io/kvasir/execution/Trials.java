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
final class Trials {
  private static final Logger LOG = LoggerFactory.getLogger(Trials.class);

  private final Call call;
  private final Means means;
  private final RetryBudget budget;
  private final long deadline;
  /** Read when a stream is resumed, while a workflow may still hear of a leg it has stopped. */
  private final Set<String> excluded = ConcurrentHashMap.newKeySet();
  private Tally tally;

  private @Nullable Worker lastWorker;
  private Attempt.Try.@Nullable Failed lastFailure;
  private Result.@Nullable Whole lastAnswer;

  Trials(Call call, Means means, RetryBudget budget) {
    this(call, means, budget, System.nanoTime() + means.settings().total().toNanos(), Tally.NONE);
  }

  private Trials(Call call, Means means, RetryBudget budget, long deadline, Tally tally) {
    this.call = call;
    this.means = means;
    this.budget = budget;
    this.deadline = deadline;
    this.tally = tally;
    this.excluded.addAll(call.decision().excluded());
  }

  /** Why a stream that was cut may not be resumed; null when it may, and a retry is taken from the budget then. */
  @Nullable String resume(Report cut) {
    if (cut.worker() != null) {
      exclude(cut.worker(), cut.outcome() instanceof Outcome.Failed(boolean transport, String _) && transport);
    }
    return deadline - System.nanoTime() <= 0 ? "overdue"
        : budget.take(System.nanoTime()) ? null
        : "budget";
  }

  /** The trials of the call that continues a stream: the same time, the next try. */
  Trials resumed(Call continuing, Report cut) {
    return new Trials(continuing, means, budget, deadline, new Tally(cut.tries(), cut.decideNanos()));
  }

  /** When the whole request must be over, in {@link System#nanoTime}. */
  long deadline() {
    return deadline;
  }

  Tally tally() {
    return tally;
  }

  /** Workers that are not to be asked, by their ids. */
  Set<String> excluded() {
    return Set.copyOf(excluded);
  }

  void decided(long nanos) {
    tally = tally.decided(nanos);
  }

  /** A plan, or a step decided anew, is about to be tried; {@code worker} is the one that will answer. */
  void trying(Worker worker) {
    tally = tally.tried();
    lastWorker = worker;
  }

  /** A worker has failed. */
  void failed(Worker worker, Attempt.Try.Failed failure) {
    LOG.warn("request {} try {} at worker {} failed ({}): {}",
        call.decision().requestId(), tally.tries(), worker.id(), failure.why(), failure.detail());
    exclude(worker, failure.transport());
    lastWorker = worker;
    lastFailure = failure;
    if (failure.answer() != null) {
      lastAnswer = failure.answer();
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
  @Nullable Duration retry(Attempt.Try.Failed failure) {
    Retries limits = means.settings().retries();
    if (!failure.repeatable() || tally.tries() >= limits.tries()) {
      return null;
    }
    double longest = (double) limits.firstPause().toNanos() * Math.pow(limits.pauseFactor(), tally.tries() - 1);
    double whole = Math.min(longest, (double) limits.longestPause().toNanos());
    long nanos = (long) (whole * ThreadLocalRandom.current().nextDouble(0.5, 1.0));
    if (deadline - System.nanoTime() <= nanos) {
      return null;
    }
    if (!budget.take(System.nanoTime())) {
      means.metrics().retryRefused("budget");
      return null;
    }
    means.metrics().retried(failure.why());
    return Duration.ofNanos(nanos);
  }

  /** Whether a second worker may be asked, too. */
  boolean hedge() {
    return budget.take(System.nanoTime());
  }

  Duration left() {
    return Duration.ofNanos(Math.max(1, deadline - System.nanoTime()));
  }

  // What the client is told.

  Result clientLeft() {
    return new Result.ClientLeft(report(new Outcome.Cancelled()));
  }

  Result nobody(Decision.NoWorker none) {
    return lastFailure == null ? new Result.NoWorker(none, report(null)) : exhausted(lastFailure);
  }

  Result exhausted(Attempt.Try.Failed failed) {
    return lastAnswer != null
        ? lastAnswer
        : new Result.Unreachable(
            failed.late(), failed.why(), report(new Outcome.Failed(failed.transport(), failed.detail())));
  }

  Result overdue() {
    return new Result.Unreachable(true, "timeout", report(new Outcome.Failed(false, Stop.TOTAL.text())));
  }

  private Report report(@Nullable Outcome outcome) {
    return new Report(
        lastWorker, outcome, tally.tries(), 0, 0, Outcome.UNKNOWN, Outcome.UNKNOWN, Outcome.UNKNOWN,
        tally.decideNanos(), 0);
  }

  /** {@code X-Request-Id} of the try that would be next: engines may choke on one they have seen. */
  String upcomingId() {
    String id = call.decision().requestId();
    return tally.tries() == 0 ? id : id + "-" + (tally.tries() + 1);
  }
}
