package io.kvasir.execution;

import io.kvasir.http.ByteSink;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.routing.Worker;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.Objects;
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
final class Resumption implements Result.Relay, CallListener {
  /** Carries a call out. */
  @FunctionalInterface
  interface Carrier {
    /** As {@link Dispatcher#execute} does. */
    Result carry(Call call, CallListener listener, Trials trials) throws InterruptedException;
  }

  private static final Logger LOG = LoggerFactory.getLogger(Resumption.class);

  private final Call call;
  private final Continuation continuation;
  private final CallListener listener;
  private final Departure departure;
  private final ExecutionMetrics metrics;
  private final Carrier carrier;

  private Trials trials;
  private Result.@Nullable Relay leg;
  /** Whether what streams are events in plain bytes. */
  private boolean readable;
  private boolean later;
  /** How the first worker, and the last, came to their ends. */
  private @Nullable Report began;
  private @Nullable Report ended;
  /** How the whole came to its end, where that is another than the last worker's. */
  private @Nullable Report whole;

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
      Departure departure,
      Trials trials,
      ExecutionMetrics metrics,
      Carrier carrier) {
    this.call = call;
    this.continuation = continuation;
    this.listener = listener;
    this.departure = departure;
    this.trials = trials;
    this.metrics = metrics;
    this.carrier = carrier;
  }

  /** The call's result, for the client: a stream in it is this one. */
  Result over(Result result) {
    if (!(result instanceof Result.Streaming streaming)) {
      return result;
    }
    leg = streaming.relay();
    readable = readable(streaming);
    return new Result.Streaming(streaming.route(), streaming.status(), streaming.headers(), this);
  }

  @Override
  public void run(ByteSink client) throws IOException {
    try {
      if (readable) {
        stitch(new StitchedStream(client, continuation.chat(), call.withoutUsage()));
      } else {
        Objects.requireNonNull(leg).run(client);
      }
    } finally {
      listener.ended(whole == null ? last() : whole);
    }
  }

  @Override
  public void identified(String answerId, Worker worker) {
    if (!later) {
      listener.identified(answerId, worker);
    }
  }

  @Override
  public void firstToken() {
    if (!later) {
      listener.firstToken();
    }
  }

  @Override
  public void ended(Report report) {
    ended = report;
    if (began == null) {
      began = report;
    }
  }

  private void stitch(StitchedStream stream) throws IOException {
    for (int resumes = 0; leg != null; resumes++) {
      PodException cut = null;
      try {
        leg.run(stream);
      } catch (PodException e) {
        cut = e;
      }
      Report report = last();
      if (!(report.outcome() instanceof Outcome.Failed) || stream.failed()) {
        stream.complete();
        if (later && report.outcome() instanceof Outcome.Completed completed) {
          whole = total(report, completed.ttftMicros(), stream.answer());
        }
        leg = null;
      } else {
        stream.cut();
        leg = next(stream, report, resumes);
      }
      if (leg == null && cut != null && !stream.done()) {
        throw cut;
      }
    }
  }

  /** Who goes on; null when nobody does, or nothing is left to say. */
  private Result.@Nullable Relay next(StitchedStream stream, Report cut, int resumes) throws IOException {
    if (departure.gone()) {
      return left(cut);
    }
    AnswerSoFar answer = stream.answer();
    String unfit = answer.unfit();
    if (unfit != null) {
      return refused(unfit, cut);
    }
    int prompt = answer.promptTokens() < 0 ? call.decision().promptTokens() : answer.promptTokens();
    if (stream.done() || answer.finished() || continuation.left(answer.generated()) <= 0) {
      stream.finish(!call.withoutUsage() && continuation.usageAsked(), prompt);
      whole = total(cut, Outcome.UNKNOWN, answer);
      metrics.resumed("finished");
      return null;
    }
    String why = resumes >= call.resumes() ? "most" : trials.resume(cut);
    return why == null ? continued(stream, cut) : refused(why, cut);
  }

  private Result.@Nullable Relay continued(StitchedStream stream, Report cut) throws IOException {
    String text = stream.answer().text();
    int generated = stream.answer().generated();
    DecisionRequest decision = call.decision().without(trials.excluded()).longer(generated);
    Call rest = call.withUsage().continuedBy(decision, continuation.body(text, generated));
    trials = trials.resumed(rest, cut);
    later = true;
    Result result;
    try {
      result = carrier.carry(rest, this, trials);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while a stream was to be resumed");
    }
    if (result instanceof Result.Streaming streaming && readable(streaming)) {
      metrics.resumed("resumed");
      LOG.info("request {}: worker {} cut its stream after {} characters, worker {} goes on",
          call.decision().requestId(), id(cut), text.length(), streaming.route().worker().id());
      return streaming.relay();
    }
    if (result instanceof Result.Streaming(Route _, int _, Headers _, AnswerRelay relay)) {
      relay.abandon();
    }
    if (departure.gone()) {
      return left(cut);
    }
    metrics.resumed("failed");
    LOG.warn("request {}: worker {} cut its stream after {} characters and nobody goes on with it: {}",
        call.decision().requestId(), id(cut), text.length(), said(result));
    return null;
  }

  /** The client has left meanwhile: nobody is to blame for what it has not got. */
  private Result.@Nullable Relay left(Report cut) {
    whole = cut.with(new Outcome.Cancelled());
    return null;
  }

  private Report last() {
    return Objects.requireNonNull(ended, "the relay told of no end");
  }

  private Result.@Nullable Relay refused(String why, Report cut) {
    metrics.resumeRefused(why);
    LOG.info("request {}: worker {} cut its stream, which is not resumed: {}",
        call.decision().requestId(), id(cut), why);
    return null;
  }

  /** How all went together: the cache is the first worker's, as far as it has told of it. */
  private Report total(Report last, long ttftMicros, AnswerSoFar answer) {
    Report start = Objects.requireNonNullElse(began, last);
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
      case Result.Whole whole -> "status " + whole.status();
      case Result.Streaming streaming -> "status " + streaming.status();
      case Result.NoWorker none -> none.decision().detail();
      case Result.Unreachable unreachable -> unreachable.why();
      case Result.ClientLeft _ -> "the client left";
    };
  }
}
