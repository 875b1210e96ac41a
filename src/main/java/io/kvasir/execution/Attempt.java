package io.kvasir.execution;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.Reservation;
import io.kvasir.execution.dialect.Translation;
import io.kvasir.execution.stream.AnswerTap;
import io.kvasir.http.StreamingBody;
import io.kvasir.http.client.PodCall;
import io.kvasir.http.client.PodException;
import io.kvasir.http.client.PodResponse;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * One request at one worker, from dispatch to outcome. Owns the booked load, the connection and the
 * deadlines, and lets go of all three exactly once, in {@link #settle}, on whichever path it ends.
 *
 * <p>Nothing goes to the client before the first byte of the answer's body is here: until then the
 * request can still be tried elsewhere, and that includes engines that send the head of a stream
 * before they have begun to work.
 *
 * <p>One thread runs it; {@link #abort} and the deadlines come from others and only abort the call,
 * so that the running thread's read fails and finds the reason in {@link #abortReason}.
 */
public final class Attempt {
  /** What came of a try. */
  public sealed interface AttemptResult {
    /** There is an answer for the client. */
    record Responded(Result result) implements AttemptResult {}

    /**
     * The worker failed, and nothing has reached the client.
     *
     * @param why the kind of failure, for metrics
     * @param detail for the log, and for the client when nobody answers
     * @param transport whether the connection failed, and so the whole pod
     * @param timedOut whether it was only too slow
     * @param retryable whether another worker may be asked
     * @param errorResponse its error answer, null when there was none
     */
    record Failed(
        String why,
        String detail,
        boolean transport,
        boolean timedOut,
        boolean retryable,
        Result.@Nullable Buffered errorResponse)
        implements AttemptResult {}

    /** It was stopped, and nobody is to blame: the client left, or the answer is not needed any more. */
    record Aborted() implements AttemptResult {}
  }

  private final Task task;
  private final PodCall podCall;
  private final ExecutionServices services;
  private final CallListener listener;
  private final Deadlines deadlines;
  private final RetryCounts counts;
  private final long started = System.nanoTime();
  private final AtomicBoolean settled = new AtomicBoolean();
  private final FirstBytes firstBytes;

  private volatile @Nullable AbortReason abortReason;

  private @Nullable PodResponse response;
  private AnswerTap tap = new AnswerTap(AnswerTap.Form.OPAQUE);
  private boolean identified;
  private boolean firstToken;
  private long headNanos;
  private long firstByteNanos;

  /**
   * An attempt about to begin.
   *
   * @param deadline when the whole request must be over, in {@link System#nanoTime}
   * @param tally what the request has taken so far
   * @throws IllegalArgumentException when the request cannot be sent; the reservation is closed then
   */
  Attempt(Task task, ExecutionServices means, CallListener listener, long deadline, RetryCounts tally) {
    this.task = task;
    this.services = means;
    this.listener = listener;
    this.counts = tally;
    this.deadlines = new Deadlines(means, deadline, this::abort);
    this.firstBytes = new FirstBytes(deadlines);
    try {
      // The deadlines are kept here; the client's own only back them up.
      podCall = means.pods().call(task.request(), means.settings().total(), means.settings().total());
    } catch (RuntimeException e) {
      task.chosen().reservation().close(new Outcome.Failed(false, "could not be sent"));
      throw e;
    }
    means.metrics().attemptStarted();
  }

  /** Sends the request and waits until there is something for the client. */
  AttemptResult start() {
    boolean keep = false;
    try {
      deadlines.check();
      PodResponse answer = podCall.send();
      response = answer;
      headNanos = System.nanoTime() - started;
      AttemptResult result = switch (answer.status()) {
        case 408, 429, 500, 502, 503, 504 -> refused(answer);
        default -> answer.status() > 504 ? refused(answer) : answered(answer);
      };
      keep = result instanceof AttemptResult.Responded(Result.Streaming _);
      return result;
    } catch (PodException e) {
      return failed(e);
    } finally {
      if (!keep) {
        settle(new Outcome.Failed(false, "given up"));
      }
    }
  }

  /** Ends the call at once: the engine sees its client gone. The first reason counts. Any thread; does not block. */
  void abort(AbortReason why) {
    if (abortReason == null) {
      abortReason = why;
    }
    podCall.abort();
  }

  /** Gives up an answer that {@link #start} has returned and nobody is going to relay. */
  void abandon() {
    abort(AbortReason.NOT_NEEDED);
    settle(new Outcome.Cancelled());
  }

  private AttemptResult refused(PodResponse answer) throws PodException {
    int status = answer.status();
    byte[] body = answer.readAll(task.maxBufferedBytes());
    boolean busy = status == 429 || status == 503;
    Outcome outcome = busy ? new Outcome.Refused(status) : new Outcome.Failed(false, "status " + status);
    settle(outcome);
    return new AttemptResult.Failed(
        busy ? "busy" : "error", "status " + status, false, false, busy || task.retryable(),
        whole(answer, body, outcome));
  }

  private AttemptResult answered(PodResponse answer) throws PodException {
    AnswerTap.Form form = AnswerTap.formOf(answer.headers());
    tap = new AnswerTap(form);
    boolean streams = !task.forRouter()
        && (form == AnswerTap.Form.EVENTS || (form == AnswerTap.Form.OPAQUE && answer.contentLength() < 0));
    boolean ended = streams ? !firstBytes.readFirst(answer) : firstBytes.readUpTo(answer, task.maxBufferedBytes());
    firstByteNanos = System.nanoTime() - started;
    if (!ended) {
      StreamingBody body = new AnswerRelay(this, task, answer, tap, firstBytes, deadlines);
      return new AttemptResult.Responded(new Result.Streaming(task.route(), answer.status(), answer.headers(), body));
    }
    if (streams && task.hasTerminator() && answer.status() < 300) {
      settle(new Outcome.Failed(false, "an empty stream"));
      return new AttemptResult.Failed("truncated", "an empty stream", false, false, task.retryable(), null);
    }
    tap.accept(firstBytes.buffer(), 0, firstBytes.length());
    tap.end();
    identify();
    Outcome outcome = answer.status() < 400 && tap.failed()
        ? new Outcome.Failed(false, "an error in the answer")
        : completedOutcome();
    settle(outcome);
    if (task.forRouter() && outcome instanceof Outcome.Failed(boolean _, String detail)) {
      return new AttemptResult.Failed("error", detail, false, false, task.retryable(), null);
    }
    return new AttemptResult.Responded(whole(answer, firstBytes.bytes(), outcome));
  }

  private Result.Buffered whole(PodResponse answer, byte[] body, Outcome outcome) {
    Translation translation = task.translation();
    byte[] own = translation == null || (task.forRouter() && answer.status() < 300) ? body
        : answer.status() < 300 ? translation.whole(body)
        : translation.error(answer.status(), body);
    return new Result.Buffered(task.route(), answer.status(), answer.headers(), own, report(outcome));
  }

  private AttemptResult failed(PodException e) {
    AbortReason why = abortReason;
    if (why != null && !why.isTimeout()) {
      settle(new Outcome.Cancelled());
      return new AttemptResult.Aborted();
    }
    Outcome.Failed outcome = outcomeOf(e);
    settle(outcome);
    boolean late = why != null
        || e.kind() == PodException.Kind.HEAD_TIMEOUT
        || e.kind() == PodException.Kind.IDLE_TIMEOUT;
    boolean untouched = e.kind() == PodException.Kind.CONNECT;
    return new AttemptResult.Failed(
        late ? "timeout" : e.kind().name().toLowerCase(Locale.ROOT),
        outcome.detail(),
        outcome.transport(),
        late,
        why != AbortReason.TOTAL_TIMEOUT && (untouched || task.retryable()),
        null);
  }

  // For the relay.

  /** Tells of the answer's id and first token as they are found. */
  void notifyListener() {
    identify();
    if (!firstToken && tap.firstToken()) {
      firstToken = true;
      task.chosen().reservation().firstToken();
      listener.firstToken();
    }
  }

  /** Ends a stream, in whatever way; the first outcome counts. */
  void streamEnded(Outcome outcome) {
    if (settle(outcome)) {
      listener.ended(report(outcome));
    }
  }

  /** What a pod's failure in the middle of a stream means. */
  Outcome outcomeOfTruncation(PodException e) {
    AbortReason why = abortReason;
    return why != null && !why.isTimeout() ? new Outcome.Cancelled() : outcomeOf(e);
  }

  /** The answer came to its end. */
  Outcome completedOutcome() {
    // Where another worker has read the prompt, this one's figure says nothing about its cache.
    int cached = task.prefillReport() == null ? tap.cachedTokens() : Outcome.UNKNOWN;
    return new Outcome.Completed(
        tap.promptTokens(), cached, tap.outputTokens(), TimeUnit.NANOSECONDS.toMicros(firstByteNanos));
  }

  private void identify() {
    if (!identified && !tap.id().isEmpty()) {
      identified = true;
      if (task.translation() == null) {
        listener.identified(tap.id(), task.chosen().worker());
      }
    }
  }

  private Outcome.Failed outcomeOf(PodException e) {
    AbortReason why = abortReason;
    boolean transport = switch (e.kind()) {
      case CONNECT, RESET, TRUNCATED -> true;
      case HEAD_TIMEOUT, IDLE_TIMEOUT, PROTOCOL, ABORTED -> false;
    };
    return new Outcome.Failed(transport, why != null ? why.text() : String.valueOf(e.getMessage()));
  }

  /** Releases everything. The first outcome counts: true for that one. */
  private boolean settle(Outcome outcome) {
    if (!settled.compareAndSet(false, true)) {
      return false;
    }
    deadlines.cancel();
    if (response != null) {
      response.close();
    } else {
      podCall.abort();
    }
    Reservation reservation = task.chosen().reservation();
    reservation.close(outcome);
    services.metrics().attemptEnded(outcome);
    return true;
  }

  private Report report(Outcome outcome) {
    Decision.Chosen chosen = task.chosen();
    Report read = task.prefillReport();
    return new Report(
        chosen.worker(),
        outcome,
        counts.tries(),
        read == null ? chosen.predictedCachedTokens() : read.predictedCachedTokens(),
        read == null ? chosen.confirmedCachedTokens() : read.confirmedCachedTokens(),
        tap.promptTokens(),
        read == null ? tap.cachedTokens() : read.cachedTokens(),
        tap.outputTokens(),
        counts.decideNanos(),
        headNanos);
  }
}
