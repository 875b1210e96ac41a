package io.kvasir.execution.workflow;

import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.Call;
import io.kvasir.execution.CallListener;
import io.kvasir.execution.ExecutionMetrics;
import io.kvasir.execution.Report;
import io.kvasir.execution.Result;
import io.kvasir.execution.RetryState;
import io.kvasir.execution.stream.AnswerTap;
import io.kvasir.execution.stream.PartialAnswer;
import io.kvasir.execution.stream.StitchedStream;
import io.kvasir.http.ByteSink;
import io.kvasir.http.Cancellation;
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
 * A stream that goes on elsewhere when its worker cuts it: the same request, longer by what the client already has, is
 * decided anew without that worker and carried out as any other. To the client, and to whoever hears of the call, it is
 * one answer. When nobody can continue it, it ends cut, as it would have without.
 *
 * <p>One thread runs it, the one that relays.
 */
final class Resumption implements StreamingBody, CallListener {
  /** Carries a call out. */
  @FunctionalInterface
  interface CallExecutor {
    /** As {@link Dispatcher#execute} does. */
    Result execute(Call call, CallListener listener, RetryState trials) throws InterruptedException;
  }

  private static final Logger LOG = LoggerFactory.getLogger(Resumption.class);

  private final Call call;
  private final Continuation continuation;
  private final CallListener listener;
  private final Cancellation cancellation;
  private final ExecutionMetrics metrics;
  private final CallExecutor executor;
  private final AtomicBoolean ended = new AtomicBoolean();

  private RetryState retries;
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
   * @param listener hears of all workers' answers as of one
   * @param trials those of the call
   */
  Resumption(
      Call call,
      Continuation continuation,
      CallListener listener,
      Cancellation cancellation,
      RetryState trials,
      ExecutionMetrics metrics,
      CallExecutor carrier) {
    this.call = call;
    this.continuation = continuation;
    this.listener = listener;
    this.cancellation = cancellation;
    this.retries = trials;
    this.metrics = metrics;
    this.executor = carrier;
  }

  /** The call's result, for the client: a stream in it is this one. */
  Result wrap(Result result) {
    if (!(result instanceof Result.Streaming streaming)) {
      return result;
    }
    current = streaming.body();
    readable = readable(streaming);
    return new Result.Streaming(streaming.route(), streaming.status(), streaming.headers(), this);
  }

  @Override
  public void run(ByteSink client) throws IOException {
    try {
      if (readable) {
        stitch(new StitchedStream(client, continuation.chat(), call.stripUsage()));
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

  /** Who goes on; null when nobody does, or nothing is left to say. */
  private @Nullable StreamingBody next(StitchedStream stream, Report cut, int resumes) throws IOException {
    if (cancellation.isCancelled()) {
      return left(cut);
    }
    PartialAnswer answer = stream.answer();
    String unfit = answer.unsupportedReason();
    if (unfit != null) {
      return refused(unfit, cut);
    }
    int prompt = answer.promptTokens() < 0 ? call.decision().promptTokens() : answer.promptTokens();
    if (stream.done() || answer.finished() || continuation.remainingTokens(answer.generated()) <= 0) {
      stream.finish(!call.stripUsage() && continuation.usageRequested(), prompt);
      totalReport = total(cut, Outcome.UNKNOWN, answer);
      metrics.resumed("finished");
      return null;
    }
    String why = resumes >= call.maxResumes() ? "most" : retries.acquireResume(cut);
    return why == null ? continued(stream, cut) : refused(why, cut);
  }

  private @Nullable StreamingBody continued(StitchedStream stream, Report cut) throws IOException {
    String text = stream.answer().text();
    int generated = stream.answer().generated();
    DecisionRequest decision = call.decision().without(retries.excluded()).withPromptTokens(generated);
    Call rest = call.withUsage().continuation(decision, continuation.body(text, generated));
    retries = retries.forResumption(rest, cut);
    resumed = true;
    Result result;
    try {
      result = executor.execute(rest, this, retries);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while a stream was to be resumed");
    }
    if (result instanceof Result.Streaming streaming && readable(streaming)) {
      metrics.resumed("resumed");
      LOG.info("request {}: worker {} cut its stream after {} characters, worker {} goes on",
          call.decision().requestId(), id(cut), text.length(), streaming.route().worker().id());
      return streaming.body();
    }
    if (result instanceof Result.Streaming unreadable) {
      unreadable.body().abandon();
      lastReport = cut;
    }
    if (cancellation.isCancelled()) {
      return left(cut);
    }
    metrics.resumed("failed");
    LOG.warn("request {}: worker {} cut its stream after {} characters and nobody goes on with it: {}",
        call.decision().requestId(), id(cut), text.length(), said(result));
    return null;
  }

  /** The client has left meanwhile: nobody is to blame for what it has not got. */
  private @Nullable StreamingBody left(Report cut) {
    totalReport = cut.with(new Outcome.Cancelled());
    return null;
  }

  private Report last() {
    return Objects.requireNonNull(lastReport, "the relay told of no end");
  }

  private @Nullable StreamingBody refused(String why, Report cut) {
    metrics.resumeRefused(why);
    LOG.info("request {}: worker {} cut its stream, which is not resumed: {}",
        call.decision().requestId(), id(cut), why);
    return null;
  }

  /** How all went together: the cache is the first worker's, as far as it has told of it. */
  private Report total(Report last, long ttftMicros, PartialAnswer answer) {
    Report start = Objects.requireNonNullElse(firstReport, last);
    return new Report(
        last.worker(),
        new Outcome.Completed(answer.promptTokens(), answer.cachedTokens(), answer.generated(), ttftMicros),
        last.tries(),
        start.predictedCachedTokens(),
        start.confirmedCachedTokens(),
        answer.promptTokens(),
        answer.cachedTokens(),
        answer.generated(),
        last.decideNanos(),
        start.headNanos());
  }

  private static boolean readable(Result.Streaming streaming) {
    return streaming.status() == 200 && AnswerTap.formOf(streaming.headers()) == AnswerTap.Form.EVENTS;
  }

  private static String id(Report report) {
    Worker worker = report.worker();
    return worker == null ? "none" : worker.id();
  }

  private static String said(Result result) {
    return switch (result) {
      case Result.Buffered whole -> "status " + whole.status();
      case Result.Streaming streaming -> "status " + streaming.status();
      case Result.NoWorker none -> none.decision().detail();
      case Result.Unreachable unreachable -> unreachable.why();
      case Result.ClientCancelled _ -> "the client left";
    };
  }
}
