package io.kvasir.execution;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.dialect.Translation;
import io.kvasir.execution.stream.AnswerTap;
import io.kvasir.http.StreamingBody;
import io.kvasir.http.client.PodCall;
import io.kvasir.http.client.PodException;
import io.kvasir.http.client.PodResponse;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One request to one worker, from its booked load to its outcome. An attempt owns the reservation, the connection and
 * the deadlines, and releases all three exactly once, in {@link #settle}, on whichever path it ends.
 *
 * <p>Nothing goes to the client before the first byte of the response's body has arrived: until then the request can
 * still be tried elsewhere, and that includes engines that send the head of a stream before they have begun to work.
 *
 * <p>One thread runs it, and may block; {@link #abort} comes from others, also before it has begun. An abort only cuts
 * the connection, so that the running thread's read fails and finds the reason in {@link #abortReason}.
 */
public final class Attempt {
  private static final Logger LOG = LoggerFactory.getLogger(Attempt.class);

  private final Decision.Chosen chosen;
  private final Supplier<Task> tasks;
  private final ExecutionServices services;
  private final CallListener listener;
  private final RetryState retries;
  private final Deadlines deadlines;
  private final FirstBytes firstBytes;
  private final AtomicBoolean settled = new AtomicBoolean();

  private volatile @Nullable AbortReason abortReason;
  private volatile @Nullable PodCall podCall;

  private @Nullable PodResponse response;
  private AnswerTap tap = new AnswerTap(AnswerTap.Form.OPAQUE);
  private boolean identified;
  private boolean firstToken;
  private long started;
  private long headNanos;
  private long firstByteNanos;

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
    this.chosen = chosen;
    this.tasks = tasks;
    this.services = services;
    this.listener = listener;
    this.retries = retries;
    this.deadlines = new Deadlines(services, retries.deadline(), this::abort);
    this.firstBytes = new FirstBytes(deadlines);
  }

  /** Sends the request and waits for something that can go to the client, or to the next step. Once. */
  public AttemptResult run() {
    AttemptResult result;
    try {
      Task task = tasks.get();
      // The deadlines are kept here; the HTTP client's own only back them up.
      PodCall call = services.pods().call(task.request(), services.settings().total(), services.settings().total());
      services.metrics().attemptStarted();
      podCall = call;
      if (abortReason != null) {
        call.abort();
      }
      result = exchange(task, call);
    } catch (RuntimeException e) {
      // A request that cannot be built, or a response that cannot be read: another worker's may be different.
      LOG.warn("request {} to worker {} failed within the router", retries.requestId(), chosen.worker().id(), e);
      settle(new Outcome.Failed(false, "could not be sent"));
      result = AttemptResult.Failed.of("internal", String.valueOf(e.getMessage()), true);
    }
    if (result instanceof AttemptResult.Failed failure) {
      LOG.warn("request {} try {} at worker {} failed ({}): {}",
          retries.requestId(), retries.tries(), chosen.worker().id(), failure.why(), failure.detail());
    }
    return result;
  }

  private AttemptResult exchange(Task task, PodCall call) {
    boolean streaming = false;
    started = services.clock().nanos();
    try {
      deadlines.start();
      PodResponse head = call.send();
      response = head;
      headNanos = services.clock().nanos() - started;
      AttemptResult result = switch (head.status()) {
        case 408, 429, 500, 502, 503, 504 -> refused(task, head);
        default -> head.status() > 504 ? refused(task, head) : responded(task, head);
      };
      streaming = result instanceof AttemptResult.Responded(Result.Streaming _);
      return result;
    } catch (PodException e) {
      return failed(task, e);
    } finally {
      if (!streaming) {
        settle(new Outcome.Failed(false, "given up"));
      }
    }
  }

  /**
   * Cuts the connection: the engine sees its client disconnect. The first reason counts. Any thread; does not block.
   */
  public void abort(AbortReason why) {
    synchronized (this) {
      if (abortReason == null) {
        abortReason = why;
      }
    }
    PodCall running = podCall;
    if (running != null) {
      running.abort();
    }
  }

  /** Releases a streaming response that {@link #run} has returned and that will not be relayed. Idempotent. */
  public void abandon() {
    abort(AbortReason.NOT_NEEDED);
    settle(new Outcome.Cancelled());
  }

  private AttemptResult refused(Task task, PodResponse head) throws PodException {
    int status = head.status();
    byte[] body = head.readAll(task.handling().maxBufferedBytes());
    boolean busy = status == 429 || status == 503;
    Outcome outcome = busy ? new Outcome.Refused(status) : new Outcome.Failed(false, "status " + status);
    settle(outcome);
    return new AttemptResult.Failed(
        busy ? "busy" : "error", "status " + status, false, false, busy || task.handling().retryable(),
        buffered(task, head, body, outcome));
  }

  private AttemptResult responded(Task task, PodResponse head) throws PodException {
    Task.ResponseHandling handling = task.handling();
    AnswerTap.Form form = AnswerTap.formOf(head.headers());
    tap = new AnswerTap(form);
    boolean streams = !handling.forRouter()
        && (form == AnswerTap.Form.EVENTS || (form == AnswerTap.Form.OPAQUE && head.contentLength() < 0));
    boolean ended = streams ? !firstBytes.readFirst(head) : firstBytes.readUpTo(head, handling.maxBufferedBytes());
    firstByteNanos = services.clock().nanos() - started;
    if (!ended) {
      StreamingBody body = new AnswerRelay(this, task, head, tap, firstBytes, deadlines);
      return new AttemptResult.Responded(new Result.Streaming(task.route(), head.status(), head.headers(), body));
    }
    if (streams && handling.hasTerminator() && head.status() < 300) {
      settle(new Outcome.Failed(false, "an empty stream"));
      return AttemptResult.Failed.of("truncated", "an empty stream", handling.retryable());
    }
    tap.accept(firstBytes.buffer(), 0, firstBytes.length());
    tap.end();
    identify(task);
    Outcome outcome = head.status() < 400 && tap.failed()
        ? new Outcome.Failed(false, "an error in the answer")
        : completedOutcome(task);
    settle(outcome);
    if (handling.forRouter() && outcome instanceof Outcome.Failed(boolean _, String detail)) {
      return AttemptResult.Failed.of("error", detail, handling.retryable());
    }
    return new AttemptResult.Responded(buffered(task, head, firstBytes.bytes(), outcome));
  }

  private Result.Buffered buffered(Task task, PodResponse head, byte[] body, Outcome outcome) {
    Translation translation = task.handling().translation();
    byte[] translated = translation == null || (task.handling().forRouter() && head.status() < 300) ? body
        : head.status() < 300 ? translation.whole(body)
        : translation.error(head.status(), body);
    return new Result.Buffered(task.route(), head.status(), head.headers(), translated, report(task, outcome));
  }

  private AttemptResult failed(Task task, PodException e) {
    AbortReason why = abortReason;
    if (why != null && !why.isTimeout()) {
      settle(new Outcome.Cancelled());
      return new AttemptResult.Aborted();
    }
    Outcome.Failed outcome = failedOutcome(e);
    settle(outcome);
    boolean late = why != null
        || e.kind() == PodException.Kind.HEAD_TIMEOUT
        || e.kind() == PodException.Kind.IDLE_TIMEOUT;
    boolean unsent = e.kind() == PodException.Kind.CONNECT;
    return new AttemptResult.Failed(
        late ? "timeout" : e.kind().name().toLowerCase(Locale.ROOT),
        outcome.detail(),
        outcome.transport(),
        late,
        why != AbortReason.TOTAL_TIMEOUT && (unsent || task.handling().retryable()),
        null);
  }

  // For the relay.

  /** Notifies the listener of the response's id and first token once they are known. */
  void notifyListener(Task task) {
    identify(task);
    if (!firstToken && tap.firstToken()) {
      firstToken = true;
      chosen.reservation().firstToken();
      listener.firstToken();
    }
  }

  /** Ends a stream, on whichever path. The first outcome counts. */
  void streamEnded(Task task, Outcome outcome) {
    if (settle(outcome)) {
      listener.ended(report(task, outcome));
    }
  }

  /** The outcome of a stream whose pod failed in the middle. */
  Outcome truncatedOutcome(PodException e) {
    AbortReason why = abortReason;
    return why != null && !why.isTimeout() ? new Outcome.Cancelled() : failedOutcome(e);
  }

  /** The outcome of a response that was complete. */
  Outcome completedOutcome(Task task) {
    // Where another worker has computed the prompt, this one's figure says nothing about its cache.
    int cached = task.prefillReport() == null ? tap.cachedTokens() : Outcome.UNKNOWN;
    return new Outcome.Completed(
        tap.promptTokens(), cached, tap.outputTokens(), TimeUnit.NANOSECONDS.toMicros(firstByteNanos));
  }

  private void identify(Task task) {
    if (!identified && !tap.id().isEmpty()) {
      identified = true;
      if (task.handling().translation() == null) {
        listener.identified(tap.id(), chosen.worker());
      }
    }
  }

  private Outcome.Failed failedOutcome(PodException e) {
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
    PodCall call = podCall;
    if (response != null) {
      response.close();
    } else if (call != null) {
      call.abort();
    }
    chosen.reservation().close(outcome);
    if (call != null) {
      services.metrics().attemptEnded(outcome);
    }
    return true;
  }

  private Report report(Task task, Outcome outcome) {
    Report prefill = task.prefillReport();
    return new Report(
        chosen.worker(),
        outcome,
        retries.tries(),
        prefill == null ? chosen.predictedCachedTokens() : prefill.predictedCachedTokens(),
        prefill == null ? chosen.confirmedCachedTokens() : prefill.confirmedCachedTokens(),
        tap.promptTokens(),
        prefill == null ? tap.cachedTokens() : prefill.cachedTokens(),
        tap.outputTokens(),
        retries.decideNanos(),
        headNanos);
  }
}
