package io.kvasir.execution.attempt;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.CallListener;
import io.kvasir.execution.Result;
import io.kvasir.execution.dialect.Translation;
import io.kvasir.execution.stream.AnswerTap;
import io.kvasir.http.StreamingBody;
import io.kvasir.http.client.PodException;
import io.kvasir.http.client.PodResponse;
import io.kvasir.http.client.PodTunnel;
import io.kvasir.telemetry.RedactedException;
import java.util.Objects;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One request to one worker, from its booked load to its outcome. What it holds at the worker is an {@link
 * PodExchange}, released exactly once on whichever path the attempt ends.
 *
 * <p>Nothing goes to the client before the first byte of the response's body has arrived: until then the request can
 * still be tried elsewhere, and that includes engines that send the head of a stream before they have begun to work.
 *
 * <p>One thread runs it, and may block; {@link #abort} comes from others, also before it has begun.
 */
public final class Attempt {
  private static final Logger LOG = LoggerFactory.getLogger(Attempt.class);

  private final Supplier<Task> tasks;
  private final ExecutionServices services;
  private final RetryState retries;
  private final PodExchange exchange;
  private final FirstBytes firstBytes;

  /**
   * An attempt about to begin.
   *
   * @param chosen the worker, and the load that the attempt releases on every path
   * @param tasks gives the request, once, on the running thread, for bodies are large
   * @param retries the request's history, this try included
   */
  public Attempt(
      Decision.Chosen chosen,
      Supplier<Task> tasks,
      ExecutionServices services,
      CallListener listener,
      RetryState retries) {
    this.tasks = tasks;
    this.services = services;
    this.retries = retries;
    this.exchange = new PodExchange(chosen, services, listener, retries);
    this.firstBytes = new FirstBytes(exchange.deadlines());
  }

  /** Sends the request and waits for something that can go to the client, or to the next step. Once. */
  public AttemptResult run() {
    boolean streaming = false;
    String worker = exchange.chosen().worker().id();
    AttemptResult result;
    try {
      result = send(tasks.get());
      streaming = result instanceof AttemptResult.Responded(Result.Streaming _);
    } catch (RuntimeException e) {
      // A request that cannot be built, or a response that cannot be read: another worker's may be different.
      retries.call().logIds().in(LOG.atWarn()).setCause(RedactedException.of(e))
          .log("a request to worker {} failed within the router", worker);
      exchange.settle(new Outcome.Cancelled());
      result = AttemptResult.Failed.of(FailureKind.INTERNAL, e.getClass().getSimpleName(), true);
    } finally {
      if (!streaming) {
        // Whatever the router failed in is not the worker's fault.
        exchange.settle(new Outcome.Cancelled());
      }
    }
    if (result instanceof AttemptResult.Failed failure) {
      retries.call().logIds().in(LOG.atWarn())
          .log("try {} at worker {} failed ({}): {}",
              retries.tries(), worker, failure.kind().label(), failure.detail());
    }
    return result;
  }

  private AttemptResult send(Task task) {
    try {
      PodResponse response = exchange.send(task.request());
      return switch (response.status()) {
        case 101 -> upgraded(task, response);
        case 408, 429, 500, 502, 503, 504 -> refused(task, response);
        default -> response.status() > 504 ? refused(task, response) : responded(task, response);
      };
    } catch (PodException e) {
      return failed(task, e);
    }
  }

  private AttemptResult preempted() {
    exchange.settle(new Outcome.Preempted());
    return new AttemptResult.Aborted(AbortReason.PREEMPTED);
  }

  /** Lets the cell take the request back until its response begins: {@link #run} then returns that it was aborted. */
  public void allowPreemption() {
    exchange.chosen().reservation().onPreempt(exchange::preempt);
  }

  /**
   * Cuts the connection: the engine sees its client disconnect. The first reason counts. Any thread; does not block.
   */
  public void abort(AbortReason why) {
    exchange.abort(why);
  }

  /** Releases a streaming response that {@link #run} has returned and that will not be relayed. Idempotent. */
  public void abandon() {
    exchange.abort(AbortReason.NOT_NEEDED);
    exchange.settle(new Outcome.Cancelled());
  }

  private AttemptResult refused(Task task, PodResponse response) throws PodException {
    if (!exchange.begin()) {
      return preempted();
    }
    int status = response.status();
    byte[] body = response.readAll(task.handling().maxBufferedBytes());
    boolean busy = status == 429 || status == 503;
    Outcome outcome = busy ? new Outcome.Refused(status) : new Outcome.Failed(false, "status " + status);
    exchange.settle(outcome);
    return new AttemptResult.Failed(
        busy ? FailureKind.BUSY : FailureKind.ERROR, "status " + status,
        busy || task.handling().rules().retryable(), buffered(task, response, body, outcome));
  }

  private AttemptResult upgraded(Task task, PodResponse response) throws PodException {
    PodTunnel tunnel = response.tunnel();
    if (tunnel == null) {
      return responded(task, response);
    }
    if (!exchange.begin()) {
      return preempted();
    }
    // Neither a first byte nor an end is due.
    exchange.deadlines().cancel();
    StreamingBody body = new WebSocketRelay(exchange, task, tunnel, services);
    return new AttemptResult.Responded(
        new Result.Streaming(exchange.route(task), response.status(), response.headers(), body));
  }

  private AttemptResult responded(Task task, PodResponse response) throws PodException {
    Task.ResponseHandling handling = task.handling();
    AnswerTap.Form form = AnswerTap.formOf(response.headers());
    exchange.tap(form);
    boolean streams = !handling.forRouter() && response.status() < 400
        && (form == AnswerTap.Form.EVENTS || (form == AnswerTap.Form.OPAQUE && response.contentLength() < 0));
    if (!streams && !exchange.begin()) {
      return preempted();
    }
    boolean ended =
        streams ? !firstBytes.readFirst(response) : firstBytes.readUpTo(response, handling.maxBufferedBytes());
    if (!exchange.begin()) {
      return preempted();
    }
    exchange.bodyStarted();
    if (!ended) {
      StreamingBody body = new AnswerRelay(exchange, task, response, firstBytes);
      return new AttemptResult.Responded(
          new Result.Streaming(exchange.route(task), response.status(), response.headers(), body));
    }
    if (streams && handling.rules().hasTerminator() && response.status() < 300) {
      exchange.settle(new Outcome.Failed(false, "an empty stream"));
      return AttemptResult.Failed.of(FailureKind.EMPTY, "an empty stream", handling.rules().retryable());
    }
    if (handling.rules().namesModel() && UnknownModel.isPossible(response.status())
        && UnknownModel.isReported(response.status(), firstBytes.bytes(), task.request().target())) {
      return unknownModel(task, response);
    }
    exchange.tap().accept(firstBytes.buffer(), 0, firstBytes.length());
    exchange.tap().end();
    exchange.identify(task);
    Outcome outcome = response.status() < 400 && exchange.tap().failed()
        ? new Outcome.Failed(false, "an error in the answer")
        : exchange.completed(task);
    exchange.settle(outcome);
    if (handling.forRouter() && outcome instanceof Outcome.Failed(boolean _, String detail)) {
      return AttemptResult.Failed.of(FailureKind.ERROR, detail, handling.rules().retryable());
    }
    return new AttemptResult.Responded(buffered(task, response, firstBytes.bytes(), outcome));
  }

  private AttemptResult unknownModel(Task task, PodResponse response) {
    Outcome.UnknownModel outcome = new Outcome.UnknownModel(response.status(), retries.call().decision().model());
    exchange.settle(outcome);
    // It has done nothing with the request.
    return new AttemptResult.Failed(
        FailureKind.UNKNOWN_MODEL, outcome.detail(), true, buffered(task, response, firstBytes.bytes(), outcome));
  }

  private Result.Buffered buffered(Task task, PodResponse response, byte[] body, Outcome outcome) {
    int status = response.status();
    Translation translation = task.handling().translation();
    byte[] translated = translation == null || (task.handling().forRouter() && status < 300) ? body
        : status < 300 ? translation.whole(body)
        : translation.error(status, body);
    return new Result.Buffered(
        exchange.route(task), status, response.headers(), translated, exchange.report(task, outcome));
  }

  private AttemptResult failed(Task task, PodException e) {
    Outcome outcome = exchange.failed(e);
    exchange.settle(outcome);
    if (!(outcome instanceof Outcome.Failed(boolean _, String detail))) {
      return new AttemptResult.Aborted(Objects.requireNonNull(exchange.abortReason()));
    }
    AbortReason why = exchange.abortReason();
    FailureKind kind = why == null ? FailureKind.of(e)
        : why == AbortReason.STRANDED ? FailureKind.STRANDED
        : FailureKind.TIMEOUT;
    boolean retryable =
        why != AbortReason.TOTAL_TIMEOUT && (kind.isBeforeRequest() || task.handling().rules().retryable());
    return AttemptResult.Failed.of(kind, detail, retryable);
  }
}
