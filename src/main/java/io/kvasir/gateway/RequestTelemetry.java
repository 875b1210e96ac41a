package io.kvasir.gateway;

import io.kvasir.cell.Outcome;
import io.kvasir.execution.CallListener;
import io.kvasir.execution.Report;
import io.kvasir.gateway.error.ApiError;
import io.kvasir.gateway.forwarding.UnaskedUsage;
import io.kvasir.gateway.request.InboundRequest;
import io.kvasir.gateway.request.RequestPreparer;
import io.kvasir.gateway.traffic.SampledChains;
import io.kvasir.gateway.traffic.TenantTraffic;
import io.kvasir.http.ApiPath;
import io.kvasir.index.Chain;
import io.kvasir.limits.LimitReservation;
import io.kvasir.locations.StoredResponses;
import io.kvasir.locations.WorkerLocation;
import io.kvasir.routing.Worker;
import io.kvasir.telemetry.AccessEntry;
import io.kvasir.telemetry.AccessLog;
import io.kvasir.telemetry.LineRate;
import io.kvasir.telemetry.LogIds;
import io.kvasir.time.NanoClock;
import io.kvasir.tracing.TraceContext;
import io.kvasir.tracing.Tracing;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * The record of one request in metrics and in one line of the log: at debug, at info when the router refused it (so
 * many a second), at warn when workers failed it. Never with a word of the prompt. Used by one thread at a time.
 */
final class RequestTelemetry implements CallListener {
  /** In the log at info; the others at debug. */
  static final int REFUSALS_PER_SECOND = 20;

  private static final Logger LOG = LoggerFactory.getLogger("io.kvasir.access");

  private final Services services;
  private final GatewayMetrics metrics;
  private final ApiPath api;
  private final InboundRequest inbound;
  private final TenantTraffic.Account tenant;
  private final long started;
  private long stageStarted;
  private @Nullable String model;
  private String label = GatewayMetrics.UNKNOWN_MODEL;
  private String profile = GatewayMetrics.NO_PROFILE;
  private boolean stream;
  private int status;
  private long ttft = -1;

  /** From its arrival to its end. */
  private long total;

  private final RequestTracing spans;
  private final LogIds logIds;
  private LimitReservation reservation = LimitReservation.NONE;
  private long promptTokens;
  private long waitedMillis;
  private @Nullable UnaskedUsage unaskedUsage;
  private boolean stored;

  /**
   * What the telemetry of all requests writes to.
   *
   * @param chains the sample of the prompts' blocks
   * @param stored where the ids of stored responses are remembered
   * @param refusals lines about refused requests
   */
  record Services(
      GatewayMetrics metrics, TenantTraffic tenants, SampledChains chains, StoredResponses stored, AccessLog log,
      Tracing tracing, NanoClock clock, LineRate refusals) {
    Services(
        GatewayMetrics metrics, TenantTraffic tenants, SampledChains chains, StoredResponses stored, AccessLog log,
        Tracing tracing, NanoClock clock) {
      this(metrics, tenants, chains, stored, log, tracing, clock, new LineRate(REFUSALS_PER_SECOND, clock));
    }
  }

  RequestTelemetry(Services services, ApiPath api, InboundRequest inbound) {
    this.services = services;
    this.metrics = services.metrics();
    this.api = api;
    this.inbound = inbound;
    this.started = services.clock().nanos();
    this.stageStarted = started;
    this.spans = RequestTracing.begin(services.tracing(), api, inbound, services.clock());
    this.logIds = new LogIds(inbound.id(), spans.traceId(inbound));
    this.tenant = services.tenants().of(inbound.caller().tenant());
    metrics.requestStarted(api);
    tenant.begin();
  }

  /** What is noted of it for its spans. */
  RequestTracing spans() {
    return spans;
  }

  /** The ids of the log's lines about it. */
  LogIds logIds() {
    return logIds;
  }

  /** What its preparation takes over from its trace. */
  RequestPreparer.PreparationTrace preparation() {
    return new RequestPreparer.PreparationTrace(logIds.traceId(), spans.promptTimes());
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
    spans.admitted();
  }

  /** Offers the prompt's blocks to the sample; those for models that nobody serves are not. */
  void sampled(Chain chain) {
    if (label.equals(model)) {
      services.chains().offer(label, inbound.caller().tenant(), chain);
    }
  }

  /** Records the length of the prompt; returns what the request has of its caller's limits. */
  LimitReservation promptOf(long tokens) {
    promptTokens = tokens;
    return reservation;
  }

  @Override
  public void waited(long millis) {
    waitedMillis = millis;
  }

  /** How long it waited for a worker that had room, 0 when it did not. */
  long waitedMillis() {
    return waitedMillis;
  }

  /** Its model as metrics have it: one that the fleet serves, or {@link GatewayMetrics#UNKNOWN_MODEL}. */
  String modelLabel() {
    return label;
  }

  /** Tells {@code learning} whether the stream, for whose usage nobody has asked, had it all the same. */
  void learnsUsage(UnaskedUsage learning) {
    unaskedUsage = learning;
  }

  /** Records the request as it was parsed; {@code known} is whether the fleet serves a model of that name. */
  void parsed(String name, boolean known, String chosenProfile, boolean streams) {
    model = name;
    profile = chosenProfile;
    label = known ? name : GatewayMetrics.UNKNOWN_MODEL;
    stream = streams;
    metrics.bodyRead(label, inbound.exchange().body().length);
  }

  /** Records that a stream begins with this status; {@link #ended} ends it. */
  void streamStarted(int answerStatus) {
    status = answerStatus;
  }

  /** Records that the engine stores its answer, so that later requests may name it. */
  void stored() {
    stored = true;
  }

  @Override
  public void identified(String answerId, Worker worker) {
    if (stored && model != null) {
      services.stored()
          .remember(answerId, new WorkerLocation(worker.id(), model, inbound.caller().tenant()));
    }
  }

  @Override
  public void firstToken() {
    ttft = services.clock().nanos() - started;
    tenant.firstToken(ttft);
    if (stream) {
      metrics.firstToken(label, profile, ttft, spans.firstToken(ttft));
    }
  }

  /** Ends a request that was interrupted because the router stops. */
  void interrupted() {
    var _ = spans.ended(503, "stopping", false);
    tenant.endRefused(false);
    reservation.cancel();
  }

  @Override
  public void ended(Report report) {
    end(
        report.outcome() instanceof Outcome.Cancelled
            ? RequestEnd.Executed.cancelled(true, report)
            : RequestEnd.Executed.answered(status, report));
  }

  /** Ends the request, once, unless it was {@link #interrupted}. */
  void end(RequestEnd end) {
    if (end.abort() != RequestEnd.Abort.NONE) {
      metrics.clientAborted(end.abort() == RequestEnd.Abort.WITHIN_ANSWER);
    }
    switch (end) {
      case RequestEnd.Executed executed -> {
        CallerLimits.settle(reservation, promptTokens, executed.status(), executed.report());
        TraceContext trace = closed(executed, false);
        tenant.end(executed.report().usage());
        measured(executed, trace);
        logged(executed);
      }
      case RequestEnd.FromCache shared -> {
        reservation.release();
        var _ = closed(shared, false);
        tenant.end(Report.TokenUsage.UNKNOWN);
        if (LOG.isDebugEnabled()) {
          logIds.in(LOG.atDebug()).log("{} model {} status {} stream {} from the response cache",
              api.label(), label, shared.status(), stream);
        }
      }
      case RequestEnd.Refused(ApiError cause) -> {
        metrics.refusedBy(cause.refusal());
        CallerLimits.settle(reservation, cause);
        boolean room = RequestTracing.isForRoom(cause.status());
        tenant.endRefused(room);
        var _ = closed(end, room);
        long leftOut = services.refusals().take();
        logIds.in(LOG.atLevel(leftOut < 0 ? Level.DEBUG : Level.INFO)).log("{} model {} refused with {}: {}{}",
            api.label(), label, cause.status(), cause.code(), LineRate.note(leftOut));
      }
    }
  }

  /** Records what every end has; returns what its exemplars name, null for none. */
  private @Nullable TraceContext closed(RequestEnd end, boolean forRoom) {
    total = services.clock().nanos() - started;
    TraceContext trace = spans.ended(end.status(), end.error(), forRoom);
    metrics.requestEnded(api, label, profile, end.status(), stream, total, trace);
    if (services.log().isOn()) {
      Report report = end instanceof RequestEnd.Executed executed ? executed.report() : null;
      AccessEntry.Served served =
          new AccessEntry.Served(
              api.label(), model, profile, stream, report == null ? null : worker(report),
              report == null ? 0 : report.tries());
      AccessEntry.Tokens tokens =
          report == null
              ? AccessEntry.Tokens.UNKNOWN
              : new AccessEntry.Tokens(
                  report.usage().promptTokens(), report.usage().cachedTokens(),
                  report.prediction().tokens().predicted(), report.usage().outputTokens());
      services.log().add(
          inbound.logged(logIds.traceId(), served, end.status(), tokens, new AccessEntry.Times(ttft, total)));
    }
    return trace;
  }

  private void measured(RequestEnd.Executed end, @Nullable TraceContext trace) {
    Report report = end.report();
    if (unaskedUsage != null && end.isCompleted()) {
      unaskedUsage.answered(label, report.usage().promptTokens() != Outcome.UNKNOWN);
    }
    metrics.stage("decide", report.timing().decideNanos());
    if (report.timing().headNanos() > 0) {
      metrics.stage("head", report.timing().headNanos());
    }
    if (end.isCompleted() && api.carriesPrompt()) {
      metrics.usage(label, profile, report.prediction(), report.usage(), trace);
      if (report.usage().outputTokens() > 0) {
        metrics.generated(label, total, stream ? ttft : -1, report.usage().outputTokens());
      }
    }
  }

  private void logged(RequestEnd.Executed end) {
    Report report = end.report();
    String failure = switch (report.outcome()) {
      case Outcome.Failed failed -> failed.detail();
      case Outcome.UnknownModel unknown -> unknown.detail();
      case null, default -> null;
    };
    if (failure != null) {
      logIds.in(LOG.atWarn()).log("{} model {} failed with {} after {} tries, last at {}: {}",
          api.label(), label, end.status(), report.tries(), worker(report), failure);
    } else if (LOG.isDebugEnabled()) {
      logIds.in(LOG.atDebug()).log(
          "{} model {} status {} stream {} worker {} tries {} predicted {} cached {} prompt {}"
              + " output {} ttft_ms {} total_ms {}",
          api.label(), label, end.status(), stream, worker(report), report.tries(),
          report.prediction().tokens().predicted(), report.usage().cachedTokens(), report.usage().promptTokens(),
          report.usage().outputTokens(),
          ttft < 0 ? -1 : TimeUnit.NANOSECONDS.toMillis(ttft), TimeUnit.NANOSECONDS.toMillis(total));
    }
  }

  private static String worker(Report report) {
    Worker worker = report.worker();
    return worker == null ? "none" : worker.id();
  }
}
