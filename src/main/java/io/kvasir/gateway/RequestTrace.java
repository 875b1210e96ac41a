package io.kvasir.gateway;

import io.kvasir.cell.Outcome;
import io.kvasir.execution.CallListener;
import io.kvasir.execution.Report;
import io.kvasir.http.ApiPath;
import io.kvasir.routing.Worker;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One request's way through the gateway, told to the metrics and in one line to the log: at debug, at
 * info when the router had to refuse it, at warn when workers failed it. Never with a word of the prompt.
 * Used by the request's own thread.
 */
final class RequestTrace implements CallListener {
  private static final Logger LOG = LoggerFactory.getLogger("io.kvasir.access");

  private final GatewayMetrics metrics;
  private final StoredResponses stored;
  private final ApiPath api;
  private final String requestId;
  private final long started = System.nanoTime();
  private long stageStarted = started;
  private @Nullable String model;
  private String label = GatewayMetrics.UNKNOWN_MODEL;
  private String profile = GatewayMetrics.NO_PROFILE;
  private boolean stream;
  private int status;
  private long ttft = -1;

  RequestTrace(GatewayMetrics metrics, StoredResponses stored, ApiPath api, String requestId) {
    this.metrics = metrics;
    this.stored = stored;
    this.api = api;
    this.requestId = requestId;
    metrics.requestStarted(api);
  }

  /** A stage of the gateway's own is over. */
  void stage(String stage) {
    long now = System.nanoTime();
    metrics.stage(stage, now - stageStarted);
    stageStarted = now;
  }

  /** The request has been read; {@code known} says whether the fleet knows the model by that name. */
  void parsed(String name, boolean known, String chosenProfile, boolean streams) {
    model = name;
    profile = chosenProfile;
    label = known ? name : GatewayMetrics.UNKNOWN_MODEL;
    stream = streams;
  }

  /** A stream begins with this status; {@link #ended} will end it. */
  void streamStarted(int answerStatus) {
    status = answerStatus;
  }

  @Override
  public void identified(String answerId, Worker worker) {
    if (api == ApiPath.RESPONSES && model != null) {
      stored.remember(answerId, worker, model);
    }
  }

  @Override
  public void firstToken() {
    ttft = System.nanoTime() - started;
    if (stream) {
      metrics.firstToken(label, profile, ttft);
    }
  }

  @Override
  public void ended(Report report) {
    boolean left = report.outcome() instanceof Outcome.Cancelled;
    if (left) {
      metrics.clientAborted(true);
    }
    finished(left ? ClientCancelled.STATUS : status, report);
  }

  /** The client left before there was anything for it. */
  void clientCancelled(Report report) {
    metrics.clientAborted(false);
    finished(ClientCancelled.STATUS, report);
  }

  /** No worker had to do with it: the answer had been kept, or was got for an identical request. */
  void servedFromCache(int answerStatus) {
    metrics.requestEnded(api, label, profile, answerStatus, stream, System.nanoTime() - started);
    LOG.debug("request {} {} model {} status {} stream {} from the response cache",
        requestId, api.label(), label, answerStatus, stream);
  }

  /** The client left while it was getting an answer that no worker gives it; {@code begun} says how far that was. */
  void cancelledFromCache(boolean begun) {
    metrics.clientAborted(begun);
    servedFromCache(ClientCancelled.STATUS);
  }

  /** The router answers by itself. */
  void refused(ApiError error) {
    metrics.requestEnded(api, label, profile, error.status(), stream, System.nanoTime() - started);
    LOG.info("request {} {} model {} refused with {}: {}",
        requestId, api.label(), label, error.status(), error.code());
  }

  /** The request is over and workers had to do with it. */
  void finished(int answerStatus, Report report) {
    long total = System.nanoTime() - started;
    metrics.requestEnded(api, label, profile, answerStatus, stream, total);
    metrics.stage("decide", report.decideNanos());
    if (report.headNanos() > 0) {
      metrics.stage("head", report.headNanos());
    }
    if (report.outcome() instanceof Outcome.Completed && api.carriesPrompt() && answerStatus < 300) {
      metrics.usage(label, profile, report);
    }
    if (report.outcome() instanceof Outcome.Failed(boolean _, String detail)) {
      LOG.warn("request {} {} model {} failed with {} after {} tries, last at {}: {}",
          requestId, api.label(), label, answerStatus, report.tries(), worker(report), detail);
    } else if (LOG.isDebugEnabled()) {
      LOG.debug("request {} {} model {} status {} stream {} worker {} tries {} predicted {} cached {} prompt {}"
              + " output {} ttft_ms {} total_ms {}",
          requestId, api.label(), label, answerStatus, stream, worker(report), report.tries(),
          report.predictedCachedTokens(), report.cachedTokens(), report.promptTokens(), report.outputTokens(),
          ttft < 0 ? -1 : TimeUnit.NANOSECONDS.toMillis(ttft), TimeUnit.NANOSECONDS.toMillis(total));
    }
  }

  private static String worker(Report report) {
    Worker worker = report.worker();
    return worker == null ? "none" : worker.id();
  }
}
