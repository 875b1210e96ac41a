package io.kvasir.execution.attempt;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.PrefixHold;
import io.kvasir.execution.CallListener;
import io.kvasir.execution.Report;
import io.kvasir.execution.UpstreamRoute;
import io.kvasir.execution.stream.AnswerTap;
import io.kvasir.execution.stream.TappedSink;
import io.kvasir.http.ApiPath;
import io.kvasir.http.client.PodCall;
import io.kvasir.http.client.PodException;
import io.kvasir.http.client.PodRequest;
import io.kvasir.http.client.PodResponse;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * What one attempt holds at its worker, and what is known of the response: the reservation, the connection and the
 * deadlines, which are released together, exactly once, in {@link #settle}; the first outcome counts.
 *
 * <p>Confined to the attempt's thread, and after it to the thread that relays the stream; {@link #abort} and {@link
 * #settle} may come from any. An abort only cuts the connection, so that the thread's read fails and finds the reason.
 */
final class PodExchange {
  /** The tap of a response that has not come: it never has a byte to look at. */
  private static final AnswerTap NOTHING = new AnswerTap(AnswerTap.Form.OPAQUE);

  private final Decision.Chosen chosen;
  private final ExecutionServices services;
  private final CallListener listener;
  private final RetryState retries;
  private final Deadlines deadlines;
  private final AtomicBoolean settled = new AtomicBoolean();

  private volatile @Nullable AbortReason abortReason;

  /** Whether the response may pass on: from then on the request is not taken back. Guarded by this. */
  private boolean begun;

  private volatile @Nullable PodCall podCall;

  /** Null while nothing of a response has passed to the client. */
  private volatile @Nullable Relay relay;

  private @Nullable PodResponse response;
  private AnswerTap tap = NOTHING;
  private boolean identified;
  private boolean firstToken;
  private PrefixHold hold = PrefixHold.NONE;
  private long heldNanos;
  private long started;
  private long headNanos;
  private long firstByteNanos;
  /** Of a complete answer: what its worker found of the prompt in its own cache. */
  private int cachedTokens = Outcome.UNKNOWN;

  private volatile LegTrace trace = LegTrace.NONE;

  private record Relay(@Nullable TappedSink reader) {}

  PodExchange(Decision.Chosen chosen, ExecutionServices services, CallListener listener, RetryState retries) {
    this.chosen = chosen;
    this.services = services;
    this.listener = listener;
    this.retries = retries;
    this.deadlines = new Deadlines(services, retries.deadline(), this::leavesWorker, this::abort);
  }

  private boolean leavesWorker() {
    Relay to = relay;
    return services.rescue().leaves(chosen.worker(), retries, to != null)
        && (to == null || (to.reader() != null && to.reader().mayBeContinued()));
  }

  /**
   * The response passes to the client from now on.
   *
   * @param reader reads it there; null for a response that nobody could continue
   */
  void relaysTo(@Nullable TappedSink reader) {
    relay = new Relay(reader);
  }

  Decision.Chosen chosen() {
    return chosen;
  }

  Deadlines deadlines() {
    return deadlines;
  }

  AnswerTap tap() {
    return tap;
  }

  /** Sends the request and waits for the head of the response. Once. */
  PodResponse send(PodRequest request) throws PodException {
    LegTrace leg = LegTrace.begin(retries.call().trace(), chosen, retries.tries(), services.clock());
    trace = leg;
    // The deadlines are kept here; the HTTP client's own only back them up.
    PodCall call =
        services.pods().call(leg.identified(request), services.settings().total(), services.settings().total());
    services.metrics().attemptStarted();
    podCall = call;
    if (abortReason != null) {
      call.abort();
    }
    awaitEarlier();
    started = services.clock().nanos();
    deadlines.start();
    PodResponse head = call.send(chosen.reservation()::sent);
    response = head;
    headNanos = services.clock().nanos() - started;
    leg.responded(head.status());
    return head;
  }

  private void awaitEarlier() {
    long begun = services.clock().nanos();
    hold = chosen.reservation().awaitEarlier(
        () -> abortReason != null || services.clock().nanos() - retries.deadline() >= 0);
    if (hold != PrefixHold.NONE) {
      heldNanos = services.clock().nanos() - begun;
      services.metrics().held(hold, heldNanos);
    }
  }

  /** The workers involved, and that the request was held before it was sent, if it was for a millisecond or in vain. */
  UpstreamRoute route(Task task) {
    long millis = TimeUnit.NANOSECONDS.toMillis(heldNanos);
    boolean told = hold != PrefixHold.NONE && (millis > 0 || hold != PrefixHold.COMPUTED);
    return told ? task.route().held(hold, millis) : task.route();
  }

  /** The first byte of the body has arrived, or the body's end. */
  void bodyStarted() {
    firstByteNanos = services.clock().nanos() - started;
  }

  /** Reads the response in that form. */
  void tap(AnswerTap.Form form) {
    tap = new AnswerTap(form, trace.isOn());
  }

  /**
   * Cuts the connection: the engine sees its client disconnect. The first reason counts. Any thread; does not block.
   */
  void abort(AbortReason why) {
    synchronized (this) {
      if (abortReason == null) {
        abortReason = why;
      }
    }
    cut();
  }

  private void cut() {
    PodCall running = podCall;
    if (running != null) {
      running.abort();
    }
  }

  /**
   * Takes the request back, unless its response has begun or it is aborted already; whoever is second does nothing. Any
   * thread; does not block.
   */
  void preempt() {
    synchronized (this) {
      if (begun || abortReason != null) {
        return;
      }
      abortReason = AbortReason.PREEMPTED;
    }
    cut();
  }

  /** The response is about to pass on, or has failed; false when the request has been taken back before. */
  synchronized boolean begin() {
    begun = abortReason != AbortReason.PREEMPTED;
    return begun;
  }

  @Nullable AbortReason abortReason() {
    return abortReason;
  }

  /** Notes that the worker moves, and notifies the listener of the response's id and first token once known. */
  void progressed(Task task) {
    chosen.reservation().progressed();
    identify(task);
    if (!firstToken && tap.firstToken()) {
      firstToken = true;
      chosen.reservation().firstToken();
      trace.firstToken();
      listener.firstToken();
    }
  }

  /** Notifies the listener of the response's id once it is known, if clients can know it: it is theirs as it comes. */
  void identify(Task task) {
    if (!identified && !tap.id().isEmpty()) {
      identified = true;
      trace.identified(tap.id());
      if (!task.handling().forRouter() && task.handling().translation() == null) {
        listener.identified(tap.id(), chosen.worker());
      }
    }
  }

  /** Ends a stream, on whichever path. The first outcome counts. */
  void streamEnded(Task task, Outcome outcome) {
    if (settle(outcome)) {
      listener.ended(report(task, outcome));
    }
  }

  /** The outcome of a response that was complete. */
  Outcome completed(Task task) {
    // Where another worker has computed the prompt, this one's figure is not about its own cache.
    cachedTokens = task.prefillReport() != null ? Outcome.UNKNOWN
        : services.usage().cachedTokens(
            chosen.worker().pod(), ApiPath.of(task.request().target()), tap.promptTokens(), tap.cachedTokens(),
            chosen.cached().predicted());
    return new Outcome.Completed(
        tap.promptTokens(), cachedTokens, tap.outputTokens(), TimeUnit.NANOSECONDS.toMicros(firstByteNanos));
  }

  /** The outcome when the connection failed: the worker's failure, unless the attempt was aborted without one. */
  Outcome failed(PodException e) {
    if (!begin()) {
      return new Outcome.Preempted();
    }
    AbortReason why = abortReason;
    if (why != null && !why.isTimeout()) {
      return new Outcome.Cancelled();
    }
    // An engine that is gone may leave its connections as they are.
    boolean transport = why == AbortReason.STRANDED || switch (e.kind()) {
      case CONNECT, UNSENT, RESET, TRUNCATED -> true;
      case HEAD_TIMEOUT, IDLE_TIMEOUT, PROTOCOL, ABORTED -> false;
    };
    return new Outcome.Failed(transport, why != null ? why.text() : String.valueOf(e.getMessage()));
  }

  /** Releases everything: true for the first call, whose outcome counts. */
  boolean settle(Outcome outcome) {
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
    // That its worker is out of service is the cell's own finding, and nothing else is known of it.
    boolean stranded = outcome instanceof Outcome.Failed && abortReason == AbortReason.STRANDED;
    chosen.reservation().close(stranded ? new Outcome.Cancelled() : outcome);
    trace.ended(outcome, tap.finishReasons());
    if (call != null) {
      services.metrics().attemptEnded(outcome);
    }
    return true;
  }

  Report report(Task task, Outcome outcome) {
    Report prefill = task.prefillReport();
    return new Report(
        chosen.worker(),
        outcome,
        retries.tries(),
        prefill == null
            ? Report.CachePrediction.of(chosen)
            : prefill.prediction(),
        new Report.TokenUsage(
            tap.promptTokens(),
            prefill != null ? prefill.usage().cachedTokens()
                : outcome instanceof Outcome.Completed ? cachedTokens
                : tap.cachedTokens(),
            tap.outputTokens(),
            tap.contentEvents()),
        new Report.Timing(retries.decideNanos(), headNanos));
  }
}
