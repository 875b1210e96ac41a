package io.kvasir.execution.dispatch;

import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.Call;
import io.kvasir.execution.CallListener;
import io.kvasir.execution.ExecutionMetrics;
import io.kvasir.execution.Report;
import io.kvasir.execution.Result;
import io.kvasir.execution.TokenCounter;
import io.kvasir.execution.UpstreamRoute;
import io.kvasir.execution.attempt.CallContext;
import io.kvasir.execution.attempt.Execution;
import io.kvasir.execution.attempt.RetryPolicy;
import io.kvasir.execution.attempt.RetryState;
import io.kvasir.execution.dialect.ChatConversion;
import io.kvasir.execution.stream.AnswerTap;
import io.kvasir.execution.stream.DivergedStreamException;
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
 * listener, it is one stream. When no worker can continue it, it ends truncated, as it would have without,
 * behind an error in its API's form.
 *
 * <p>Confined to the thread that relays it.
 */
final class Resumption implements StreamingBody {
  /**
   * What all resumptions of a node share.
   *
   * @param retries decides whether a stream is continued
   * @param metrics counts resumptions
   * @param texts for what streams have said so far
   * @param tokens counts what was generated
   * @param conversion makes a chat of a message that is to be continued
   * @param executor carries out the call that continues
   */
  record Services(
      RetryPolicy retries, ExecutionMetrics metrics, TextBudget texts, TokenCounter tokens, ChatConversion conversion,
      CallExecutor executor) {}

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
  private final CancellationSource cancellation;
  private final Services services;
  private final JoinedReports reports;
  private final CutDecider decider;
  private final AtomicBoolean ended = new AtomicBoolean();

  private @Nullable RetryState retries;
  private @Nullable StreamingBody current;
  /** Whether the worker that streams was to receive the prompt's KV blocks from another, and could compute them. */
  private boolean receivesBlocks;
  /** Whether what streams are events in plain bytes. */
  private boolean readable;

  /**
   * A resumption of a call about to be carried out.
   *
   * @param call as the client made it
   * @param listener notified of all workers' streams as of one
   */
  Resumption(Call call, CallListener listener, CancellationSource cancellation, Services services) {
    this.call = call;
    this.api = continuable(call.http().target());
    this.cancellation = cancellation;
    this.services = services;
    this.reports = new JoinedReports(listener);
    this.decider = new CutDecider(call, services.retries(), services.tokens(), services.conversion(), cancellation);
  }

  /** The API of a request whose streams can be continued; null for another. */
  static @Nullable ApiPath continuable(String target) {
    ApiPath api = ApiPath.of(target);
    return api == ApiPath.CHAT || api == ApiPath.COMPLETIONS || api == ApiPath.MESSAGES || api == ApiPath.RESPONSES
        ? api
        : null;
  }

  /** The call to be carried out first: its worker's stream is to come with its usage. */
  Call begun() {
    return api == null ? call : call.withUsage();
  }

  /** Listens to the workers that the call is carried out by. */
  CallListener listener() {
    return reports;
  }

  /** The call's result, for the client: a stream in it is this one. */
  Result wrap(Execution execution) {
    if (!(execution.result() instanceof Result.Streaming streaming)) {
      return execution.result() instanceof Result.Buffered whole ? asRequested(whole) : execution.result();
    }
    retries = execution.retries();
    current = streaming.body();
    receivesBlocks = receivesBlocks(streaming.route());
    readable = readable(streaming.status(), streaming.headers());
    return new Result.Streaming(streaming.route(), streaming.status(), streaming.headers(), this);
  }

  private static boolean receivesBlocks(UpstreamRoute route) {
    return route.prefill() != null && route.worker().canPrefill();
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
            new StitchedStream(client, decider::permits, api, call.rules().stripUsage(), services.texts())) {
          stitch(stream);
        }
      } else {
        Objects.requireNonNull(current).run(client);
      }
    } finally {
      end();
    }
  }

  @Override
  public void abandon() {
    StreamingBody begun = current;
    if (begun != null) {
      begun.abandon();
      end();
    }
  }

  private void end() {
    if (ended.compareAndSet(false, true)) {
      if (api == null && reports.total().outcome() instanceof Outcome.Failed) {
        services.metrics().resumeRefused("api");
      }
      reports.end();
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
      Report report = reports.last();
      if (!(report.outcome() instanceof Outcome.Failed) || stream.failed()) {
        stream.complete();
        reports.completed(stream.answer());
        current = null;
      } else {
        stream.truncated();
        current = next(stream, report, resumes);
        if (current == null && !stream.done() && !cancellation.isCancelled()) {
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
    RetryState next =
        Objects.requireNonNull(retries).afterTruncation(cut, receivesBlocks && !stream.answer().hasText());
    return switch (decider.decide(stream, next, resumes)) {
      case CutDecision.ClientCancelled _ -> clientCancelled(cut);
      case CutDecision.Refused(String why) -> refused(why, cut);
      case CutDecision.Finished(boolean withUsage) -> finished(stream, withUsage, cut);
      case CutDecision.Continued continued -> {
        stream.resume(restOfStream(continued));
        yield continued(continued, cut, call.maxResumes() - resumes - 1);
      }
    };
  }

  private static RestOfStream restOfStream(CutDecision.Continued next) {
    Continuation continuation = next.continuation();
    boolean reports = !next.rest().text().isEmpty();
    boolean usage = continuation.usageRequested() && !next.usageInjected();
    return new RestOfStream(
        next.rest().prompt(), continuation.chat() && reports, reports && !continuation.usageRequested(),
        usage && continuation.continuousUsageRequested());
  }

  private @Nullable StreamingBody finished(StitchedStream stream, boolean withUsage, Report cut) throws IOException {
    int reported = stream.answer().promptTokens();
    stream.finish(withUsage, reported < 0 ? call.decision().prompt().tokens() : reported);
    reports.finished(cut, stream.answer());
    services.metrics().resumed("finished");
    return null;
  }

  private @Nullable StreamingBody continued(CutDecision.Continued next, Report cut, int resumesLeft)
      throws IOException {
    RetryState state = next.retries();
    ProvenRest from = next.rest();
    DecisionRequest decision =
        call.decision().unpreemptible().without(state.excluded()).withPromptTokens(from.generated());
    Continuation continuation = next.continuation();
    Call rest = call.withUsage().continuation(
        decision, continuation.target(call.http().target()), continuation.body(from.text(), from.generated()),
        resumesLeft);
    reports.continues(cut);
    Execution execution;
    try {
      execution = services.executor().execute(new CallContext(rest, cancellation, reports), state);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while a stream was to be resumed");
    }
    retries = execution.retries();
    Result result = execution.result();
    StreamingBody body = readableBody(result);
    if (body != null) {
      receivesBlocks = result instanceof Result.Streaming streaming && receivesBlocks(streaming.route());
      services.metrics().resumed("resumed");
      call.logIds().in(LOG.atInfo()).log(
          "worker {} cut its stream after {} characters, worker {} continues it",
          id(cut), from.text().length(), describe(result));
      return body;
    }
    if (result instanceof Result.Streaming unreadable) {
      unreadable.body().abandon();
      reports.replaceLast(cut);
    }
    if (cancellation.isCancelled()) {
      return clientCancelled(cut);
    }
    services.metrics().resumed("failed");
    call.logIds().in(LOG.atWarn()).log(
        "worker {} cut its stream after {} characters and no worker continues it: {}",
        id(cut), from.text().length(), describe(result));
    return null;
  }

  /** The worker that was to continue does something else: the stream ends as the one before it was cut. */
  private void diverged(DivergedStreamException e) {
    reports.endsAsCut();
    services.metrics().resumeRefused("diverged");
    call.logIds().in(LOG.atWarn()).log(
        "worker {} does not go on from the text of the stream that it was to continue, which ends cut: {}",
        id(reports.last()), e.getMessage());
  }

  /** The events of a result, also those that came whole; null when it has none. */
  private @Nullable StreamingBody readableBody(Result result) {
    return switch (result) {
      case Result.Streaming streaming when readable(streaming.status(), streaming.headers()) -> streaming.body();
      case Result.Buffered whole when readable(whole.status(), whole.headers()) -> StreamingBody.of(client -> {
        reports.replaceLast(whole.report());
        client.write(whole.body(), 0, whole.body().length);
      });
      default -> null;
    };
  }

  /** The client has cancelled meanwhile: the missing rest is no worker's failure. */
  private @Nullable StreamingBody clientCancelled(Report cut) {
    reports.endsCancelled(cut);
    return null;
  }

  private @Nullable StreamingBody refused(String why, Report cut) {
    services.metrics().resumeRefused(why);
    call.logIds().in(LOG.atInfo()).log("worker {} cut its stream, which is not resumed: {}", id(cut), why);
    return null;
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
