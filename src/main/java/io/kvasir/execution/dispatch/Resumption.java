package io.kvasir.execution.dispatch;

import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.Call;
import io.kvasir.execution.CallListener;
import io.kvasir.execution.ExecutionMetrics;
import io.kvasir.execution.Report;
import io.kvasir.execution.Result;
import io.kvasir.execution.TokenCounter.CutStream;
import io.kvasir.execution.TokenCounter.TokenCount;
import io.kvasir.execution.TokenCounter;
import io.kvasir.execution.attempt.CallContext;
import io.kvasir.execution.attempt.Execution;
import io.kvasir.execution.attempt.RetryPolicy;
import io.kvasir.execution.attempt.RetryState;
import io.kvasir.execution.dialect.ClientRequest;
import io.kvasir.execution.stream.AnswerTap;
import io.kvasir.execution.stream.DivergedStreamException;
import io.kvasir.execution.stream.PartialAnswer;
import io.kvasir.execution.stream.RestOfStream;
import io.kvasir.execution.stream.StitchedStream;
import io.kvasir.execution.stream.TextBudget;
import io.kvasir.execution.stream.UsageFilter;
import io.kvasir.http.ApiPath;
import io.kvasir.http.ByteSink;
import io.kvasir.http.CancellationSource;
import io.kvasir.http.Headers;
import io.kvasir.http.StreamingBody;
import io.kvasir.http.client.PodException;
import io.kvasir.routing.Worker;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A stream that is continued by another worker when its own cuts it: the same request, longer by what the client
 * already has, is decided again without that worker and carried out as any other. To the client, and to the call's
 * listener, it is one stream. When no worker can continue it, it ends truncated, as it would have without.
 *
 * <p>Confined to the thread that relays it.
 */
final class Resumption implements StreamingBody, CallListener {
  /**
   * What all resumptions of a node share.
   *
   * @param retries decides whether a stream is continued
   * @param metrics counts resumptions
   * @param texts for what streams have said so far
   * @param tokens counts what was generated
   * @param executor carries out the call that continues
   */
  record Services(
      RetryPolicy retries, ExecutionMetrics metrics, TextBudget texts, TokenCounter tokens, CallExecutor executor) {}

  /** Carries out a call. */
  @FunctionalInterface
  interface CallExecutor {
    /** The call's result, once there is one; {@code retries} is the history before it. */
    Execution execute(CallContext context, RetryState retries) throws InterruptedException;
  }

  private static final Logger LOG = LoggerFactory.getLogger(Resumption.class);

  private final Call call;
  /** The API of the request, where its streams can be continued. */
  private final @Nullable ApiPath api;
  private final CallListener listener;
  private final CancellationSource cancellation;
  private final Services services;
  private final AtomicBoolean ended = new AtomicBoolean();

  private @Nullable RetryState retries;
  private @Nullable StreamingBody current;
  /** Whether what streams are events in plain bytes. */
  private boolean readable;
  private boolean resumed;
  private boolean hasId;
  private boolean hasFirstToken;
  /** How the first worker, and the last, came to their ends. */
  private @Nullable Report firstReport;
  private @Nullable Report lastReport;
  /** How the worker that was continued last came to its end. */
  private @Nullable Report begunCut;
  /** How the whole came to its end, where that is another than the last worker's. */
  private @Nullable Report totalReport;

  /**
   * A resumption of a call about to be carried out.
   *
   * @param call as the client made it
   * @param listener notified of all workers' streams as of one
   */
  Resumption(Call call, CallListener listener, CancellationSource cancellation, Services services) {
    this.call = call;
    this.api = continuable(call.http().target());
    this.listener = listener;
    this.cancellation = cancellation;
    this.services = services;
  }

  private static @Nullable ApiPath continuable(String target) {
    int query = target.indexOf('?');
    ApiPath api = ApiPath.at(query < 0 ? target : target.substring(0, query));
    return api == ApiPath.CHAT || api == ApiPath.COMPLETIONS ? api : null;
  }

  /** The call to be carried out first: its worker's stream is to come with its usage. */
  Call begun() {
    return api == null ? call : call.withUsage();
  }

  /** The call's result, for the client: a stream in it is this one. */
  Result wrap(Execution execution) {
    if (!(execution.result() instanceof Result.Streaming streaming)) {
      return execution.result() instanceof Result.Buffered whole ? asRequested(whole) : execution.result();
    }
    retries = execution.retries();
    current = streaming.body();
    readable = readable(streaming.status(), streaming.headers());
    return new Result.Streaming(streaming.route(), streaming.status(), streaming.headers(), this);
  }

  /** Events that came whole, without the usage that was requested only to be read on the way. */
  private Result asRequested(Result.Buffered whole) {
    return call.rules().stripUsage() && readable(whole.status(), whole.headers())
        ? new Result.Buffered(
            whole.route(), whole.status(), whole.headers(), UsageFilter.strip(whole.body()), whole.report())
        : whole;
  }

  @Override
  public void run(ByteSink client) throws IOException {
    try {
      if (readable && api != null) {
        try (StitchedStream stream =
            new StitchedStream(client, api == ApiPath.CHAT, call.rules().stripUsage(), services.texts())) {
          stitch(stream);
        }
      } else {
        Objects.requireNonNull(current).run(client);
      }
    } finally {
      end(totalReport == null ? last() : totalReport);
    }
  }

  @Override
  public void abandon() {
    StreamingBody begun = current;
    if (begun != null) {
      begun.abandon();
      end(last());
    }
  }

  private void end(Report report) {
    if (ended.compareAndSet(false, true)) {
      if (api == null && report.outcome() instanceof Outcome.Failed) {
        services.metrics().resumeRefused("api");
      }
      listener.ended(report);
    }
  }

  @Override
  public void waited(long millis) {
    listener.waited(millis);
  }

  @Override
  public void identified(String answerId, Worker worker) {
    if (!resumed || !hasId) {
      hasId = true;
      listener.identified(answerId, worker);
    }
  }

  @Override
  public void firstToken() {
    if (!resumed || !hasFirstToken) {
      hasFirstToken = true;
      listener.firstToken();
    }
  }

  @Override
  public void ended(Report report) {
    lastReport = report;
    if (firstReport == null) {
      firstReport = report;
    }
  }

  private void stitch(StitchedStream stream) throws IOException {
    PodException cut = null;
    for (int resumes = 0; current != null; resumes++) {
      PodException cutBefore = cut;
      cut = null;
      try {
        current.run(stream);
      } catch (PodException e) {
        cut = e;
      } catch (DivergedStreamException e) {
        diverged(e);
        stream.flush();
        stream.abandoned();
        if (cutBefore != null) {
          throw cutBefore;
        }
        return;
      }
      Report report = last();
      if (!(report.outcome() instanceof Outcome.Failed) || stream.failed()) {
        stream.complete();
        if (resumed && report.outcome() instanceof Outcome.Completed completed) {
          totalReport = total(report, completed.ttftMicros(), stream.answer());
        }
        current = null;
      } else {
        stream.truncated();
        current = next(stream, report, resumes);
        if (current == null && !stream.done()) {
          stream.abandoned();
        }
      }
      if (current == null && cut != null && !stream.done()) {
        throw cut;
      }
    }
  }

  /** The stream that continues; null without one, or when nothing is left to generate. */
  private @Nullable StreamingBody next(StitchedStream stream, Report cut, int resumes) throws IOException {
    if (cancellation.isCancelled()) {
      return clientCancelled(cut);
    }
    PartialAnswer answer = stream.answer();
    ClientRequest request = ClientRequest.of(call.http().target(), call.http().body());
    if (request == null) {
      return refused("body", cut);
    }
    Continuation continuation = new Continuation(request);
    boolean injected = call.rules().stripUsage();
    boolean usage = continuation.usageRequested() && !injected;
    if (stream.done() || (answer.finished() && !continuation.hasSeveralAnswers())) {
      return usage && !stream.done() && !answer.hasUsageEvent() && !answer.isReported()
          ? refused("usage", cut)
          : finished(stream, usage, cut);
    }
    String unfit = answer.unsupportedReason();
    if (unfit == null) {
      unfit = continuation.unsupportedReason(answer.hasText(), answer.text());
    }
    if (unfit != null) {
      return refused(unfit, cut);
    }
    RetryState next = Objects.requireNonNull(retries).afterTruncation(cut);
    // To count is dear: it comes before what is cheap only where it may end the stream.
    boolean mayBeOver = continuation.mayBeOver(answer.mostGenerated());
    String obstacle = mayBeOver ? null : obstacle(next, resumes);
    if (obstacle != null) {
      return refused(obstacle, cut);
    }
    Rest rest = rest(continuation, answer, injected);
    if (!mayBeOver && (rest == null || cancellation.isCancelled())) {
      services.retries().releaseResume();
    }
    if (cancellation.isCancelled()) {
      return clientCancelled(cut);
    }
    if (rest == null || continuation.isWithoutDefault(answer, rest.generated())) {
      return refused("tokens", cut);
    }
    answer.count(rest.generated());
    if (continuation.remainingTokens(rest.generated()) <= 0) {
      return finished(stream, usage, cut);
    }
    obstacle = mayBeOver ? obstacle(next, resumes) : null;
    if (obstacle != null) {
      return refused(obstacle, cut);
    }
    boolean reports = !rest.text().isEmpty();
    stream.resume(
        new RestOfStream(
            rest.prompt(), continuation.chat() && reports, reports && !continuation.usageRequested(),
            usage && continuation.continuousUsageRequested()));
    return continued(continuation, rest, cut, next);
  }

  /** Takes the continuation from the budget: null, or why there must be none. */
  private @Nullable String obstacle(RetryState next, int resumes) {
    return resumes >= call.maxResumes() ? "most" : services.retries().acquireResume(next);
  }

  private @Nullable StreamingBody finished(StitchedStream stream, boolean withUsage, Report cut) throws IOException {
    int reported = stream.answer().promptTokens();
    stream.finish(withUsage, reported < 0 ? call.decision().prompt().tokens() : reported);
    totalReport = total(cut, Outcome.UNKNOWN, stream.answer());
    services.metrics().resumed("finished");
    return null;
  }

  /**
   * What another worker is to go on from.
   *
   * @param text the text that its prompt ends with
   * @param generated its tokens
   * @param prompt tokens of the whole prompt, {@link Outcome#UNKNOWN} when they are not known
   */
  private record Rest(String text, int generated, int prompt) {}

  /**
   * What another worker is to go on from; null where it is not known to be what was generated, as far as the client
   * could notice: by a limit that does not hold, by its usage, by a conversation that goes on from something else.
   */
  private @Nullable Rest rest(Continuation continuation, PartialAnswer answer, boolean usageInjected) {
    if (!answer.hasText()) {
      return new Rest("", 0, Outcome.UNKNOWN);
    }
    // The stream expects the blanks behind it once more.
    String whole = answer.text();
    String text = whole.stripTrailing();
    int blanks = whole.length() - text.length();
    int reported = answer.isReported() ? answer.generated() : Outcome.UNKNOWN;
    Rest rest = switch (services.tokens().count(
        new CutStream(call, continuation.body(text, 0), answer.pieces(), blanks), cancellation)) {
      case TokenCount.Exact exact ->
          reported == Outcome.UNKNOWN || exact.text() <= reported ? new Rest(text, exact.text(), exact.prompt()) : null;
      case TokenCount.Different _ -> null;
      case TokenCount.Unknown _ when reported != Outcome.UNKNOWN && blanks == 0 && !continuation.mayHoldText() ->
          new Rest(text, reported, answer.promptTokens() < 0 ? Outcome.UNKNOWN : answer.promptTokens() + reported);
      case TokenCount.Unknown _ -> continuation.countsTokens(usageInjected)
          ? null
          : new Rest(text, answer.generated(), Outcome.UNKNOWN);
    };
    boolean provable = rest != null && (rest.prompt() != Outcome.UNKNOWN || !continuation.chat() || text.isEmpty());
    return provable ? rest : null;
  }

  private @Nullable StreamingBody continued(Continuation continuation, Rest next, Report cut, RetryState state)
      throws IOException {
    DecisionRequest decision =
        call.decision().unpreemptible().without(state.excluded()).withPromptTokens(next.generated());
    Call rest = call.withUsage().continuation(decision, continuation.body(next.text(), next.generated()));
    resumed = true;
    begunCut = cut;
    Execution execution;
    try {
      execution = services.executor().execute(new CallContext(rest, cancellation, this), state);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while a stream was to be resumed");
    }
    retries = execution.retries();
    Result result = execution.result();
    StreamingBody body = readableBody(result);
    if (body != null) {
      services.metrics().resumed("resumed");
      call.logIds().in(LOG.atInfo()).log(
          "worker {} cut its stream after {} characters, worker {} continues it",
          id(cut), next.text().length(), describe(result));
      return body;
    }
    if (result instanceof Result.Streaming unreadable) {
      unreadable.body().abandon();
      lastReport = cut;
    }
    if (cancellation.isCancelled()) {
      return clientCancelled(cut);
    }
    services.metrics().resumed("failed");
    call.logIds().in(LOG.atWarn()).log(
        "worker {} cut its stream after {} characters and no worker continues it: {}",
        id(cut), next.text().length(), describe(result));
    return null;
  }

  /** The worker that was to continue does something else: the stream ends as the one before it was cut. */
  private void diverged(DivergedStreamException e) {
    Report other = last();
    totalReport = begunCut;
    services.metrics().resumeRefused("diverged");
    call.logIds().in(LOG.atWarn()).log(
        "worker {} does not go on from the text of the stream that it was to continue, which ends cut: {}",
        id(other), e.getMessage());
  }

  /** The events of a result, also those that came whole; null when it has none. */
  private @Nullable StreamingBody readableBody(Result result) {
    return switch (result) {
      case Result.Streaming streaming when readable(streaming.status(), streaming.headers()) -> streaming.body();
      case Result.Buffered whole when readable(whole.status(), whole.headers()) -> StreamingBody.of(client -> {
        lastReport = whole.report();
        client.write(whole.body(), 0, whole.body().length);
      });
      default -> null;
    };
  }

  /** The client has cancelled meanwhile: the missing rest is no worker's failure. */
  private @Nullable StreamingBody clientCancelled(Report cut) {
    totalReport = cut.with(new Outcome.Cancelled());
    return null;
  }

  private Report last() {
    return Objects.requireNonNull(lastReport, "the stream reported no end");
  }

  private @Nullable StreamingBody refused(String why, Report cut) {
    services.metrics().resumeRefused(why);
    call.logIds().in(LOG.atInfo()).log("worker {} cut its stream, which is not resumed: {}", id(cut), why);
    return null;
  }

  /** How all went together: the cache is the first worker's, as far as it is known. */
  private Report total(Report last, long ttftMicros, PartialAnswer answer) {
    Report start = Objects.requireNonNullElse(firstReport, last);
    return new Report(
        last.worker(),
        new Outcome.Completed(answer.promptTokens(), answer.cachedTokens(), answer.generated(), ttftMicros),
        last.tries(),
        start.prediction(),
        new Report.TokenUsage(answer.promptTokens(), answer.cachedTokens(), answer.generated(), answer.generated()),
        new Report.Timing(last.timing().decideNanos(), start.timing().headNanos()));
  }

  private static boolean readable(int status, Headers headers) {
    return status == 200 && AnswerTap.formOf(headers) == AnswerTap.Form.EVENTS;
  }

  private static String id(Report report) {
    Worker worker = report.worker();
    return worker == null ? "none" : worker.id();
  }

  private static String describe(Result result) {
    return switch (result) {
      case Result.Buffered whole -> whole.route().worker().id() + " with status " + whole.status();
      case Result.Streaming streaming -> streaming.route().worker().id() + " with status " + streaming.status();
      case Result.NoWorker none -> none.decision().detail();
      case Result.Unreachable unreachable -> unreachable.why();
      case Result.Quarantined _ -> "it is in quarantine";
      case Result.ClientCancelled _ -> "the client cancelled";
    };
  }
}
