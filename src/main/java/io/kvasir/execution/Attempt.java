package io.kvasir.execution;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.Reservation;
import io.kvasir.execution.dialect.Translation;
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
 * <p>One thread runs it; {@link #stop} and the deadlines come from others and only abort the call,
 * so that the running thread's read fails and finds the reason in {@link #stopped}.
 */
final class Attempt {
  /** What came of a try. */
  sealed interface Try {
    /** There is an answer for the client. */
    record Answered(Result result) implements Try {}

    /**
     * The worker failed, and nothing has reached the client.
     *
     * @param why the kind of failure, for metrics
     * @param detail for the log, and for the client when nobody answers
     * @param transport whether the connection failed, and so the whole pod
     * @param late whether it was only too slow
     * @param repeatable whether another worker may be asked
     * @param answer its error answer, null when there was none
     */
    record Failed(
        String why,
        String detail,
        boolean transport,
        boolean late,
        boolean repeatable,
        Result.@Nullable Whole answer)
        implements Try {}

    /** It was stopped, and nobody is to blame: the client left, or the answer is not needed any more. */
    record Stopped() implements Try {}
  }

  private final Task task;
  private final PodCall podCall;
  private final Means means;
  private final CallListener listener;
  private final Deadlines deadlines;
  private final Tally tally;
  private final long started = System.nanoTime();
  private final AtomicBoolean settled = new AtomicBoolean();
  private final Beginning beginning;

  private volatile @Nullable Stop stopped;

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
  Attempt(Task task, Means means, CallListener listener, long deadline, Tally tally) {
    this.task = task;
    this.means = means;
    this.listener = listener;
    this.tally = tally;
    this.deadlines = new Deadlines(means, deadline, this::stop);
    this.beginning = new Beginning(deadlines);
    try {
      // The deadlines are kept here; the client's own only back them up.
      podCall = means.pods().call(task.request(), means.settings().total(), means.settings().total());
    } catch (RuntimeException e) {
      task.chosen().reservation().close(new Outcome.Failed(false, "could not be sent"));
      throw e;
    }
    means.metrics().begun();
  }

  /** Sends the request and waits until there is something for the client. */
  Try begin() {
    boolean keep = false;
    try {
      deadlines.watch();
      PodResponse answer = podCall.send();
      response = answer;
      headNanos = System.nanoTime() - started;
      Try result = switch (answer.status()) {
        case 408, 429, 500, 502, 503, 504 -> refused(answer);
        default -> answer.status() > 504 ? refused(answer) : answered(answer);
      };
      keep = result instanceof Try.Answered(Result.Streaming _);
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
  void stop(Stop why) {
    if (stopped == null) {
      stopped = why;
    }
    podCall.abort();
  }

  /** Gives up an answer that {@link #begin} has returned and nobody is going to relay. */
  void abandon() {
    stop(Stop.NOT_NEEDED);
    settle(new Outcome.Cancelled());
  }

  private Try refused(PodResponse answer) throws PodException {
    int status = answer.status();
    byte[] body = answer.readAll(task.wholeBytes());
    boolean busy = status == 429 || status == 503;
    Outcome outcome = busy ? new Outcome.Refused(status) : new Outcome.Failed(false, "status " + status);
    settle(outcome);
    return new Try.Failed(
        busy ? "busy" : "error", "status " + status, false, false, busy || task.repeatable(),
        whole(answer, body, outcome));
  }

  private Try answered(PodResponse answer) throws PodException {
    AnswerTap.Form form = AnswerTap.formOf(answer.headers());
    tap = new AnswerTap(form);
    boolean streams = !task.readHere()
        && (form == AnswerTap.Form.EVENTS || (form == AnswerTap.Form.OPAQUE && answer.contentLength() < 0));
    boolean ended = streams ? !beginning.readFirst(answer) : beginning.gather(answer, task.wholeBytes());
    firstByteNanos = System.nanoTime() - started;
    if (!ended) {
      Result.Relay relay = new AnswerRelay(this, task, answer, tap, beginning, deadlines);
      return new Try.Answered(new Result.Streaming(task.route(), answer.status(), answer.headers(), relay));
    }
    if (streams && task.terminated() && answer.status() < 300) {
      settle(new Outcome.Failed(false, "an empty stream"));
      return new Try.Failed("truncated", "an empty stream", false, false, task.repeatable(), null);
    }
    tap.accept(beginning.buffer(), 0, beginning.length());
    tap.end();
    identify();
    Outcome outcome = answer.status() < 400 && tap.failed()
        ? new Outcome.Failed(false, "an error in the answer")
        : completed();
    settle(outcome);
    if (task.readHere() && outcome instanceof Outcome.Failed(boolean _, String detail)) {
      return new Try.Failed("error", detail, false, false, task.repeatable(), null);
    }
    return new Try.Answered(whole(answer, beginning.bytes(), outcome));
  }

  private Result.Whole whole(PodResponse answer, byte[] body, Outcome outcome) {
    Translation translation = task.translation();
    byte[] own = translation == null || (task.readHere() && answer.status() < 300) ? body
        : answer.status() < 300 ? translation.whole(body)
        : translation.error(answer.status(), body);
    return new Result.Whole(task.route(), answer.status(), answer.headers(), own, report(outcome));
  }

  private Try failed(PodException e) {
    Stop why = stopped;
    if (why != null && !why.late()) {
      settle(new Outcome.Cancelled());
      return new Try.Stopped();
    }
    Outcome.Failed outcome = outcomeOf(e);
    settle(outcome);
    boolean late = why != null
        || e.kind() == PodException.Kind.HEAD_TIMEOUT
        || e.kind() == PodException.Kind.IDLE_TIMEOUT;
    boolean untouched = e.kind() == PodException.Kind.CONNECT;
    return new Try.Failed(
        late ? "timeout" : e.kind().name().toLowerCase(Locale.ROOT),
        outcome.detail(),
        outcome.transport(),
        late,
        why != Stop.TOTAL && (untouched || task.repeatable()),
        null);
  }

  // For the relay.

  /** Tells of the answer's id and first token as they are found. */
  void tell() {
    identify();
    if (!firstToken && tap.firstToken()) {
      firstToken = true;
      task.chosen().reservation().firstToken();
      listener.firstToken();
    }
  }

  /** A stream is over, in whatever way. */
  void ended(Outcome outcome) {
    settle(outcome);
    listener.ended(report(outcome));
  }

  /** What a pod's failure in the middle of a stream means. */
  Outcome outcomeOfCut(PodException e) {
    Stop why = stopped;
    return why != null && !why.late() ? new Outcome.Cancelled() : outcomeOf(e);
  }

  /** The answer came to its end. */
  Outcome completed() {
    // Where another worker has read the prompt, this one's figure says nothing about its cache.
    int cached = task.read() == null ? tap.cachedTokens() : Outcome.UNKNOWN;
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
    Stop why = stopped;
    boolean transport = switch (e.kind()) {
      case CONNECT, RESET, TRUNCATED -> true;
      case HEAD_TIMEOUT, IDLE_TIMEOUT, PROTOCOL, ABORTED -> false;
    };
    return new Outcome.Failed(transport, why != null ? why.text() : String.valueOf(e.getMessage()));
  }

  /** Lets go of everything. The first outcome counts. */
  private void settle(Outcome outcome) {
    if (!settled.compareAndSet(false, true)) {
      return;
    }
    deadlines.end();
    if (response != null) {
      response.close();
    } else {
      podCall.abort();
    }
    Reservation reservation = task.chosen().reservation();
    reservation.close(outcome);
    means.metrics().ended(outcome);
  }

  private Report report(Outcome outcome) {
    Decision.Chosen chosen = task.chosen();
    Report read = task.read();
    return new Report(
        chosen.worker(),
        outcome,
        tally.tries(),
        read == null ? chosen.predictedCachedTokens() : read.predictedCachedTokens(),
        read == null ? chosen.confirmedCachedTokens() : read.confirmedCachedTokens(),
        tap.promptTokens(),
        read == null ? tap.cachedTokens() : read.cachedTokens(),
        tap.outputTokens(),
        tally.decideNanos(),
        headNanos);
  }
}
