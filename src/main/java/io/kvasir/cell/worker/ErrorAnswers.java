package io.kvasir.cell.worker;

import io.kvasir.cell.Outcome;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/**
 * The error answers of a cell's workers, by request: whether one counts for its worker's circuit breaker is known when
 * the request has been tried on another. What that answers was the first worker's failure; what it fails at, too, is
 * the request's own fault and counts for nobody, or clients could close workers to all others. An error whose request
 * nobody else gets counts after {@link #WAIT}, unless the worker has answered another request since.
 *
 * <p>A worker that is to receive the prompt's KV blocks from another fails, too, when that one has died or does not
 * hand them over. Its error counts when another worker has received them from the same one; where nobody tries that,
 * while that one is well. Where the prompt has been computed elsewhere, be it by the worker that failed, the error
 * counts as a failed {@linkplain WorkerHealth#handOvers hand-over} of the one that computed it first.
 *
 * <p>A worker that is unavailable (503) while it has nothing else to do is not full: that is an error answer, too.
 *
 * <p>An answer that a model is unknown counts at once, whatever others answer: no client can cause it.
 *
 * <p>A worker that cannot be spared counts no errors: it stays as long as it can be reached. Bounded; thread-safe.
 * While there are no errors, the end of a request costs one read.
 */
public final class ErrorAnswers {
  static final Duration WAIT = Duration.ofSeconds(10);
  private static final int MAX_REQUESTS = 1024;
  private static final int UNAVAILABLE = 503;
  private static final String ERRORS = "a run of error answers";

  private final NanoClock clock;
  private final Predicate<Member> canSpare;
  private final Map<String, ErrorAnswer> open = new LinkedHashMap<>();
  private volatile boolean empty = true;

  /**
   * An error answer whose blame is not known.
   *
   * @param member the worker
   * @param generates whether its answer was to be the client's
   * @param repeated whether another one failed at the request before it
   * @param prefillers health of the workers whose KV blocks were to be received when the request failed
   * @param detail of the answer
   */
  private record ErrorAnswer(
      Member member, boolean generates, boolean repeated, Set<WorkerHealth> prefillers, String detail, long at) {
    /** Whether an answer shows that the request could be served: another pod's, or the same one's in another way. */
    boolean isMadeGoodBy(ServedRequest answered, Member answering) {
      return answered.generates() == generates
          && (answering.worker().pod().equals(member.worker().pod())
              ? !prefillers.isEmpty()
              : answering.serves(member));
    }
  }

  /**
   * No errors yet.
   *
   * @param canSpare whether others could do a worker's work, so that it may be left out
   */
  public ErrorAnswers(NanoClock clock, Predicate<Member> canSpare) {
    this.clock = clock;
    this.canSpare = canSpare;
  }

  /** A request has ended at a worker. Without effect for one whose id is not known here. */
  public void requestEnded(ServedRequest request, Member member, Outcome outcome) {
    if (request.id() == null) {
      return;
    }
    switch (outcome) {
      case Outcome.Completed completed -> {
        if (request.prefiller() != null && completed.outputTokens() > 0) {
          request.prefiller().onHandedOver();
        }
        if (!empty) {
          answered(request.id(), request, member);
        }
      }
      case Outcome.Failed(boolean transport, String detail) when !transport ->
          failed(request.id(), request, member, detail);
      case Outcome.Refused(int status) when status == UNAVAILABLE && member.load().inFlight() == 0 ->
          failed(request.id(), request, member, "status " + status);
      case Outcome.UnknownModel unknown -> {
        if (canSpare.test(member)) {
          member.health().onFailure(clock.nanos(), "a run of answers that it does not serve '" + unknown.model() + "'");
        }
      }
      case Outcome.Failed _, Outcome.Refused _, Outcome.Cancelled _, Outcome.Preempted _ -> {
        // Nothing that the worker has answered.
      }
    }
  }

  private synchronized void failed(String id, ServedRequest request, Member member, String detail) {
    long now = clock.nanos();
    settle(now);
    ErrorAnswer earlier = open.remove(id);
    boolean repeated = false;
    Set<WorkerHealth> prefillers = new HashSet<>();
    if (earlier != null && (earlier.member != member || !earlier.prefillers.isEmpty())) {
      repeated = true;
      prefillers.addAll(earlier.prefillers);
    } else if (earlier != null) {
      blameUnmadeGood(earlier);
    }
    if (request.prefiller() != null) {
      prefillers.add(request.prefiller());
    }
    open.put(id, new ErrorAnswer(member, request.generates(), repeated, prefillers, detail, now));
    empty = false;
  }

  private synchronized void answered(String id, ServedRequest request, Member member) {
    settle(clock.nanos());
    ErrorAnswer earlier = open.get(id);
    if (earlier != null && earlier.isMadeGoodBy(request, member)) {
      WorkerHealth prefiller = request.prefiller();
      open.remove(id);
      for (WorkerHealth sender : earlier.prefillers) {
        if (sender != prefiller && sender.isHealthy()) {
          sender.onNotHandedOver("%s of worker %s".formatted(earlier.detail, earlier.member.worker().id()));
        }
      }
      boolean ownFault =
          earlier.prefillers.isEmpty() || (prefiller != null && earlier.prefillers.contains(prefiller));
      if (!earlier.repeated && ownFault) {
        blame(earlier);
      }
    }
    empty = open.isEmpty();
  }

  /** Counts errors that nobody else has had a chance to make good. */
  private void settle(long now) {
    for (Iterator<ErrorAnswer> all = open.values().iterator(); all.hasNext(); ) {
      ErrorAnswer oldest = all.next();
      if (open.size() <= MAX_REQUESTS && now - oldest.at < WAIT.toNanos()) {
        return;
      }
      all.remove();
      blameUnmadeGood(oldest);
    }
  }

  /** Counts an error whose request no other worker has answered. */
  private void blameUnmadeGood(ErrorAnswer error) {
    if (!error.repeated && error.prefillers.stream().allMatch(WorkerHealth::isHealthy)) {
      blame(error);
    }
  }

  private void blame(ErrorAnswer error) {
    if (canSpare.test(error.member)) {
      error.member.health().onFailure(error.at, ERRORS);
    }
  }
}
