package io.kvasir.execution.dispatch;

import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.Call;
import io.kvasir.execution.CallListener;
import io.kvasir.execution.ExecutionMetrics;
import io.kvasir.execution.Report;
import io.kvasir.execution.Result;
import io.kvasir.execution.attempt.CallContext;
import io.kvasir.execution.attempt.Execution;
import io.kvasir.execution.attempt.RetryPolicy;
import io.kvasir.execution.attempt.RetryState;
import io.kvasir.execution.stream.AnswerTap;
import io.kvasir.execution.stream.PartialAnswer;
import io.kvasir.execution.stream.StitchedStream;
import io.kvasir.http.ByteSink;
import io.kvasir.http.CancellationSource;
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
   * @param executor carries out the call that continues
   */
  record Services(RetryPolicy retries, ExecutionMetrics metrics, CallExecutor executor) {}

  /** Carries out a call. */
  @FunctionalInterface
  interface CallExecutor {
    /** The call's result, once there is one; {@code retries} is the history before it. */
    Execution execute(CallContext context, RetryState retries) throws InterruptedException;
  }

  /**
   * Counts a truncated stream that its profile would have continued, were the request of another kind.
   *
   * @param reason why it is not continued
   */
  private record Unsupported(CallListener listener, String reason, ExecutionMetrics metrics) implements CallListener {
    @Override
    public void waited(long millis) {
      listener.waited(millis);
    }

    @Override
    public void identified(String answerId, Worker worker) {
      listener.identified(answerId, worker);
    }

    @Override
    public void firstToken() {
      listener.firstToken();
    }

    @Override
    public void ended(Report report) {
      if (report.outcome() instanceof Outcome.Failed) {
        metrics.resumeRefused(reason);
      }
      listener.ended(report);
    }
  }

  private static final Logger LOG = LoggerFactory.getLogger(Resumption.class);

  private final Call call;
  private final Continuation continuation;
  private final CallListener listener;
  private final CancellationSource cancellation;
  private final Services services;
  private final AtomicBoolean ended = new AtomicBoolean();

  private @Nullable RetryState retries;
  private @Nullable StreamingBody current;
  /** Whether what streams are events in plain bytes. */
  private boolean readable;
  private boolean resumed;
  /** How the first worker, and the last, came to their ends. */
  private @Nullable Report firstReport;
  private @Nullable Report lastReport;
  /** How the whole came to its end, where that is another than the last worker's. */
  private @Nullable Report totalReport;

  /**
   * A resumption of a call about to be carried out.
   *
   * @param call as the client made it
   * @param listener notified of all workers' streams as of one
   */
  Resumption(
      Call call,
      Continuation continuation,
      CallListener listener,
      CancellationSource cancellation,
      Services services) {
    this.call = call;
    this.continuation = continuation;
    this.listener = listener;
    this.cancellation = cancellation;
    this.services = services;
  }

  /** The listener of a call whose stream cannot be continued, for the reason that metrics name. */
  static CallListener unsupported(CallListener listener, String reason, ExecutionMetrics metrics) {
    return new Unsupported(listener, reason, metrics);
  }

  /** The call's result, for the client: a stream in it is this one. */
  Result wrap(Execution execution) {
    if (!(execution.result() instanceof Result.Streaming streaming)) {
      return execution.result();
    }
    retries = execution.retries();
    current = streaming.body();
    readable = readable(streaming);
    return new Result.Streaming(streaming.route(), streaming.status(), streaming.headers(), this);
  }

  @Override
  public void run(ByteSink client) throws IOException {
    try {
      if (readable) {
        stitch(new StitchedStream(client, continuation.chat(), call.rules().stripUsage()));
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
      listener.ended(report);
    }
  }

  @Override
  public void waited(long millis) {
    listener.waited(millis);
  }

  @Override
  public void identified(String answerId, Worker worker) {
    if (!resumed) {
      listener.identified(answerId, worker);
    }
  }

  @Override
  public void firstToken() {
    if (!resumed) {
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
    for (int resumes = 0; current != null; resumes++) {
      PodException cut = null;
      try {
        current.run(stream);
      } catch (PodException e) {
        cut = e;
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
    String unfit = answer.unsupportedReason();
    if (unfit != null) {
      return refused(unfit, cut);
    }
    int prompt = answer.promptTokens() < 0 ? call.decision().prompt().tokens() : answer.promptTokens();
    if (stream.done() || answer.finished() || continuation.remainingTokens(answer.generated()) <= 0) {
      stream.finish(!call.rules().stripUsage() && continuation.usageRequested(), prompt);
      totalReport = total(cut, Outcome.UNKNOWN, answer);
      services.metrics().resumed("finished");
      return null;
    }
    RetryState next = Objects.requireNonNull(retries).afterTruncation(cut);
    String why = resumes >= call.maxResumes() ? "most" : services.retries().acquireResume(next);
    return why == null ? continued(stream, cut, next) : refused(why, cut);
  }

  private @Nullable StreamingBody continued(StitchedStream stream, Report cut, RetryState next)
      throws IOException {
    String text = stream.answer().text();
    int generated = stream.answer().generated();
    DecisionRequest decision = call.decision().without(next.excluded()).withPromptTokens(generated);
    Call rest = call.withUsage().continuation(decision, continuation.body(text, generated));
    resumed = true;
    Execution execution;
    try {
      execution = services.executor().execute(new CallContext(rest, cancellation, this), next);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while a stream was to be resumed");
    }
    retries = execution.retries();
    Result result = execution.result();
    if (result instanceof Result.Streaming streaming && readable(streaming)) {
      services.metrics().resumed("resumed");
      call.logIds().in(LOG.atInfo()).log(
          "worker {} cut its stream after {} characters, worker {} continues it",
          id(cut), text.length(), streaming.route().worker().id());
      return streaming.body();
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
        id(cut), text.length(), describe(result));
    return null;
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

  private static boolean readable(Result.Streaming streaming) {
    return streaming.status() == 200 && AnswerTap.formOf(streaming.headers()) == AnswerTap.Form.EVENTS;
  }

  private static String id(Report report) {
    Worker worker = report.worker();
    return worker == null ? "none" : worker.id();
  }

  private static String describe(Result result) {
    return switch (result) {
      case Result.Buffered whole -> "status " + whole.status();
      case Result.Streaming streaming -> "status " + streaming.status();
      case Result.NoWorker none -> none.decision().detail();
      case Result.Unreachable unreachable -> unreachable.why();
      case Result.Quarantined _ -> "it is in quarantine";
      case Result.ClientCancelled _ -> "the client cancelled";
    };
  }
}
