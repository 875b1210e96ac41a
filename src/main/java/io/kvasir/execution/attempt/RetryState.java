package io.kvasir.execution.attempt;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.Call;
import io.kvasir.execution.Report;
import io.kvasir.execution.Result;
import io.kvasir.routing.Worker;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The history of one request's tries, and the result the client gets when they lead nowhere. Immutable; whether there
 * may be another try is the {@link RetryPolicy}'s.
 *
 * @param call the client's call, whatever the tries have made of it
 * @param deadline when the whole request must be over, on the clock of the {@link RetryPolicy}
 * @param counts what has been tried so far
 * @param excluded ids of the workers that must not be tried any more
 * @param failedReceivers ids of those of them that failed when they were to receive the prompt's KV blocks from
 *     another: that one may be to blame, so they may be tried again as workers that compute the prompt themselves
 * @param lastWorker the worker of the latest try, null before the first
 * @param lastFailure the latest failure, null before the first
 * @param lastErrorResponse the latest error response of a worker, null before the first
 */
public record RetryState(
    Call call,
    long deadline,
    Counts counts,
    Set<String> excluded,
    Set<String> failedReceivers,
    @Nullable Worker lastWorker,
    AttemptResult.@Nullable Failed lastFailure,
    Result.@Nullable Buffered lastErrorResponse) {
  /**
   * What has been tried so far.
   *
   * @param tries workers the request was sent to, the one under way included; the steps of one plan count as one
   * @param disconnects those whose connection ended after the request was sent
   * @param unknownModels those that said that they do not serve the model
   * @param decideNanos spent in deciding, all tries together
   * @param preemptions workers from which the request was taken back before they answered, which are no tries
   */
  public record Counts(int tries, int disconnects, int unknownModels, long decideNanos, int preemptions) {
    static final Counts NONE = new Counts(0, 0, 0, 0, 0);

    Counts withTries(int made) {
      return new Counts(made, disconnects, unknownModels, decideNanos, preemptions);
    }

    Counts withDisconnect() {
      return new Counts(tries, disconnects + 1, unknownModels, decideNanos, preemptions);
    }

    Counts withUnknownModel() {
      return new Counts(tries, disconnects, unknownModels + 1, decideNanos, preemptions);
    }

    Counts withDecideNanos(long nanos) {
      return new Counts(tries, disconnects, unknownModels, nanos, preemptions);
    }

    Counts withPreemption() {
      return new Counts(tries, disconnects, unknownModels, decideNanos, preemptions + 1);
    }
  }

  /** The state before the first try. */
  public RetryState(Call call, long deadline) {
    this(call, deadline, Counts.NONE, call.decision().constraints().excluded(), Set.of(), null, null, null);
  }

  /** The request's {@code X-Request-Id}. */
  public String requestId() {
    return call.decision().requestId();
  }

  /** Workers the request was sent to, the one under way included; the steps of one plan count as one. */
  public int tries() {
    return counts.tries();
  }

  /** Nanoseconds spent in deciding, all tries together. */
  public long decideNanos() {
    return counts.decideNanos();
  }

  /** The state after a decision that took so long. */
  public RetryState withDecision(long nanos) {
    Counts next = counts.withDecideNanos(counts.decideNanos + nanos);
    return new RetryState(call, deadline, next, excluded, failedReceivers, lastWorker, lastFailure, lastErrorResponse);
  }

  /** The state when a plan, or a replanned step, is about to be tried; {@code worker} is the last step's. */
  public RetryState withTry(Worker worker) {
    Counts next = counts.withTries(counts.tries + 1);
    return new RetryState(call, deadline, next, excluded, failedReceivers, worker, lastFailure, lastErrorResponse);
  }

  /** The state when the try that began with this one was taken back from its worker: no try, but its id is used. */
  public RetryState withPreemption() {
    return new RetryState(
        call, deadline, counts.withPreemption(), excluded, failedReceivers, lastWorker, lastFailure,
        lastErrorResponse);
  }

  /** The state after a worker's failure, which excludes the worker. */
  public RetryState withFailure(Worker worker, AttemptResult.Failed failure) {
    Counts next = failure.kind().isSuspect() ? counts.withDisconnect()
        : failure.kind() == FailureKind.UNKNOWN_MODEL ? counts.withUnknownModel()
        : counts;
    return new RetryState(
        call, deadline, next, excluding(worker, failure.kind().isOfTransport()), failedReceivers, worker, failure,
        failure.errorResponse() == null ? lastErrorResponse : failure.errorResponse());
  }

  /** The same with a worker, excluded already, that failed when it was to receive KV blocks from another. */
  public RetryState withFailedReceiver(Worker worker) {
    Set<String> all = new HashSet<>(failedReceivers);
    all.add(worker.id());
    return new RetryState(
        call, deadline, counts, excluded, Set.copyOf(all), lastWorker, lastFailure, lastErrorResponse);
  }

  /** The state of a request whose prompt is handed over no more: workers that failed when it was may be tried. */
  public RetryState readmittingReceivers() {
    Set<String> left = new HashSet<>(excluded);
    left.removeAll(failedReceivers);
    return new RetryState(
        call, deadline, counts, Set.copyOf(left), Set.of(), lastWorker, lastFailure, lastErrorResponse);
  }

  /**
   * The state of the call that continues a stream after its worker cut it: the same deadline, the next try.
   *
   * @param receivedBlocks whether the worker was to receive the prompt's KV blocks from another, and generated nothing
   */
  public RetryState afterTruncation(Report cut, boolean receivedBlocks) {
    Worker worker = cut.worker();
    boolean transport = cut.outcome() instanceof Outcome.Failed failed && failed.transport();
    Counts next = counts.withTries(cut.tries()).withDecideNanos(cut.timing().decideNanos());
    RetryState state = new RetryState(
        call, deadline, transport ? next.withDisconnect() : next,
        worker == null ? excluded : excluding(worker, transport), failedReceivers, null, null, null);
    return worker != null && receivedBlocks && !transport ? state.withFailedReceiver(worker) : state;
  }

  /** A pod that cannot be reached is excluded with all its ranks. */
  private Set<String> excluding(Worker worker, boolean wholePod) {
    Set<String> all = new HashSet<>(excluded);
    all.add(worker.id());
    if (wholePod && worker.ranks() > 1) {
      for (int rank = 0; rank < worker.ranks(); rank++) {
        all.add(worker.pod() + "#" + rank);
      }
    }
    return Set.copyOf(all);
  }

  /** {@code X-Request-Id} of the next try: engines may reject one they have seen. */
  public String nextRequestId() {
    int sent = tries() + counts.preemptions;
    return sent == 0 ? requestId() : requestId() + "-" + (sent + 1);
  }

  public Result clientCancelled() {
    return new Result.ClientCancelled(report(new Outcome.Cancelled()));
  }

  /** The result when no worker could be chosen: the latest failure's where there was one. */
  public Result noWorker(Decision.NoWorker none) {
    return lastFailure == null ? new Result.NoWorker(none, report(null)) : exhausted(lastFailure);
  }

  /** The result when nothing is left to try: the latest error response, or that no worker was reached. */
  public Result exhausted(AttemptResult.Failed failure) {
    return lastErrorResponse != null
        ? lastErrorResponse
        : new Result.Unreachable(
            failure.kind() == FailureKind.TIMEOUT, failure.kind().label(), report(failed(failure)));
  }

  /** The result of a request that no further worker may get, as it may be what ended those that had it. */
  Result quarantined() {
    return new Result.Quarantined(report(lastFailure == null ? null : failed(lastFailure)));
  }

  public Result timedOut() {
    return new Result.Unreachable(true, "timeout", report(new Outcome.Failed(false, AbortReason.TOTAL_TIMEOUT.text())));
  }

  private static Outcome failed(AttemptResult.Failed failure) {
    return new Outcome.Failed(failure.kind().isOfTransport(), failure.detail());
  }

  private Report report(@Nullable Outcome outcome) {
    return new Report(
        lastWorker, outcome, tries(), Report.CachePrediction.NONE, Report.TokenUsage.UNKNOWN,
        new Report.Timing(decideNanos(), 0));
  }
}
