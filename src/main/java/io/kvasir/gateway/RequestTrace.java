package io.kvasir.gateway;

import io.kvasir.cell.Outcome;
import io.kvasir.execution.CallListener;
import io.kvasir.execution.Report;
import io.kvasir.http.ApiPath;
import io.kvasir.limits.LimitReservation;
import io.kvasir.routing.Worker;
import io.kvasir.telemetry.AccessEntry;
import io.kvasir.telemetry.AccessLog;
import io.kvasir.time.NanoClock;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The record of one request in metrics and in one line of the log: at debug, at info when the router refused it, at
 * warn when workers failed it. Never with a word of the prompt. Used by one thread at a time.
 */
final class RequestTrace implements CallListener {
  private static final Logger LOG = LoggerFactory.getLogger("io.kvasir.access");

  private final Services services;
  private final GatewayMetrics metrics;
  private final ApiPath api;
  private final InboundRequest inbound;
  private final long started;
  private long stageStarted;
  private @Nullable String model;
  private String label = GatewayMetrics.UNKNOWN_MODEL;
  private String profile = GatewayMetrics.NO_PROFILE;
  private boolean stream;
  private int status;
  private long ttft = -1;
  private LimitReservation reservation = LimitReservation.NONE;
  private long promptTokens;

  /**
   * What traces write to.
   *
   * @param stored where the ids of stored responses are remembered
   */
  record Services(GatewayMetrics metrics, StoredResponses stored, AccessLog log, NanoClock clock) {}

  RequestTrace(Services services, ApiPath api, InboundRequest inbound) {
    this.services = services;
    this.metrics = services.metrics();
    this.api = api;
    this.inbound = inbound;
    this.started = services.clock().nanos();
    this.stageStarted = started;
    metrics.requestStarted(api);
  }

  /** Ends a stage of the gateway's own. */
  void stage(String stage) {
    long now = services.clock().nanos();
    metrics.stage(stage, now - stageStarted);
    stageStarted = now;
  }

  /** Keeps what the request has of its caller's limits: every way to its end ends that, too. */
  void admitted(LimitReservation reserved) {
    reservation = reserved;
  }

  /** Records the length of the prompt; returns what the request has of its caller's limits. */
  LimitReservation promptOf(long tokens) {
    promptTokens = tokens;
    return reservation;
  }

  /** Ends a request that was interrupted because the router stops. */
  void interrupted() {
    reservation.cancel();
  }

  /** Records the request as it was parsed; {@code known} is whether the fleet serves a model of that name. */
  void parsed(String name, boolean known, String chosenProfile, boolean streams) {
    model = name;
    profile = chosenProfile;
    label = known ? name : GatewayMetrics.UNKNOWN_MODEL;
    stream = streams;
  }

  /** Records that a stream begins with this status; {@link #ended} ends it. */
  void streamStarted(int answerStatus) {
    status = answerStatus;
  }

  @Override
  public void identified(String answerId, Worker worker) {
    if (api == ApiPath.RESPONSES && model != null) {
      services.stored().remember(answerId, worker, model, inbound.caller().tenant());
    }
  }

  @Override
  public void firstToken() {
    ttft = services.clock().nanos() - started;
    if (stream) {
      metrics.firstToken(label, profile, ttft);
    }
  }

  @Override
  public void ended(Report report) {
    boolean cancelled = report.outcome() instanceof Outcome.Cancelled;
    if (cancelled) {
      metrics.clientAborted(true);
    }
    finished(cancelled ? ClientCancelled.STATUS : status, report);
  }

  /** Ends a request whose client disconnected before there was anything for it. */
  void clientCancelled(Report report) {
    metrics.clientAborted(false);
    finished(ClientCancelled.STATUS, report);
  }

  /** Ends a request that no worker answered: from the cache, or with the answer to an identical one. */
  void servedFromCache(int answerStatus) {
    reservation.release();
    long total = services.clock().nanos() - started;
    metrics.requestEnded(api, label, profile, answerStatus, stream, total);
    log(answerStatus, total, null, AccessEntry.Tokens.UNKNOWN);
    LOG.debug("request {} {} model {} status {} stream {} from the response cache",
        inbound.id(), api.label(), label, answerStatus, stream);
  }

  /** The same for a client that disconnected; {@code begun} is whether it had a part of the answer. */
  void cancelledFromCache(boolean begun) {
    metrics.clientAborted(begun);
    servedFromCache(ClientCancelled.STATUS);
  }

  /** Ends a request with an error of the router's own. */
  void refused(ApiError error) {
    CallerLimits.settle(reservation, error);
    if (error.status() == ClientCancelled.STATUS) {
      metrics.clientAborted(false);
    }
    long total = services.clock().nanos() - started;
    metrics.requestEnded(api, label, profile, error.status(), stream, total);
    log(error.status(), total, null, AccessEntry.Tokens.UNKNOWN);
    LOG.info("request {} {} model {} refused with {}: {}",
        inbound.id(), api.label(), label, error.status(), error.code());
  }

  /** Ends a request that workers had to do with. */
  void finished(int answerStatus, Report report) {
    CallerLimits.settle(reservation, promptTokens, answerStatus, report);
    long total = services.clock().nanos() - started;
    metrics.requestEnded(api, label, profile, answerStatus, stream, total);
    log(
        answerStatus, total, report,
        new AccessEntry.Tokens(
            report.usage().promptTokens(), report.usage().cachedTokens(), report.prediction().cachedTokens(),
            report.usage().outputTokens()));
    metrics.stage("decide", report.timing().decideNanos());
    if (report.timing().headNanos() > 0) {
      metrics.stage("head", report.timing().headNanos());
    }
    if (report.outcome() instanceof Outcome.Completed && api.carriesPrompt() && answerStatus < 300) {
      metrics.usage(label, profile, report.prediction(), report.usage());
    }
    if (report.outcome() instanceof Outcome.Failed(boolean _, String detail)) {
      LOG.warn("request {} {} model {} failed with {} after {} tries, last at {}: {}",
          inbound.id(), api.label(), label, answerStatus, report.tries(), worker(report), detail);
    } else if (LOG.isDebugEnabled()) {
      LOG.debug("request {} {} model {} status {} stream {} worker {} tries {} predicted {} cached {} prompt {}"
              + " output {} ttft_ms {} total_ms {}",
          inbound.id(), api.label(), label, answerStatus, stream, worker(report), report.tries(),
          report.prediction().cachedTokens(), report.usage().cachedTokens(), report.usage().promptTokens(),
          report.usage().outputTokens(),
          ttft < 0 ? -1 : TimeUnit.NANOSECONDS.toMillis(ttft), TimeUnit.NANOSECONDS.toMillis(total));
    }
  }

  private static String worker(Report report) {
    Worker worker = report.worker();
    return worker == null ? "none" : worker.id();
  }

  private void log(int answerStatus, long total, @Nullable Report report, AccessEntry.Tokens tokens) {
    if (services.log().isOn()) {
      AccessEntry.Served served =
          new AccessEntry.Served(
              api.label(), model, profile, stream, report == null ? null : worker(report),
              report == null ? 0 : report.tries());
      services.log().add(inbound.logged(served, answerStatus, tokens, new AccessEntry.Times(ttft, total)));
    }
  }
}
