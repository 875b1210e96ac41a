package io.kvasir.gateway;

import io.kvasir.admission.AdmissionRefusal;
import io.kvasir.answers.AnswerCache;
import io.kvasir.cell.Cells;
import io.kvasir.cell.Decision;
import io.kvasir.execution.Call;
import io.kvasir.execution.Report;
import io.kvasir.execution.Result;
import io.kvasir.execution.dispatch.Dispatcher;
import io.kvasir.execution.dispatch.Handover;
import io.kvasir.gateway.body.ApiRequest;
import io.kvasir.gateway.body.UnreadBody;
import io.kvasir.gateway.error.ApiBoundary;
import io.kvasir.gateway.error.ApiError;
import io.kvasir.gateway.error.ApiException;
import io.kvasir.gateway.error.ClientCancelled;
import io.kvasir.gateway.error.ErrorFormat;
import io.kvasir.gateway.error.GateRefusal;
import io.kvasir.gateway.forwarding.ForwardedHeaders;
import io.kvasir.gateway.forwarding.ForwardedRequest;
import io.kvasir.gateway.forwarding.UnaskedUsage;
import io.kvasir.gateway.forwarding.UsageInjection;
import io.kvasir.gateway.keepalive.KeepAlive;
import io.kvasir.gateway.keepalive.KeepAlives;
import io.kvasir.gateway.request.InboundRequest;
import io.kvasir.gateway.request.ParsedRequest;
import io.kvasir.gateway.request.RequestHints;
import io.kvasir.gateway.request.RequestParser;
import io.kvasir.gateway.request.RequestPreparer;
import io.kvasir.gateway.request.RequestStages;
import io.kvasir.gateway.request.WebSocketRequest;
import io.kvasir.http.ApiPath;
import io.kvasir.http.Cancellation;
import io.kvasir.http.Headers;
import io.kvasir.http.RequestMemory;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.Response;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The handler of requests that a worker answers: reads and prepares them, has them executed, and passes the answer on
 * with the worker's name.
 */
final class InferenceHandler implements AutoCloseable {
  /** The head of a stream that begins before its worker is known. */
  private static final Headers EARLY =
      Headers.of("Content-Type", "text/event-stream; charset=utf-8", "Cache-Control", "no-cache");

  private final RequestParser parser;
  private final RequestPreparer preparer;
  private final Cells cells;
  private final Dispatcher dispatcher;
  private final @Nullable CachedAnswers cached;
  private final CallerLimits limits;
  private final RequestTelemetry.Services services;
  private final GatewayMetrics metrics;
  private final GatewaySettings settings;
  private final KeepAlives keepAlives;
  private final ForwardedHeaders forwarded;
  private final UnaskedUsage unaskedUsage = new UnaskedUsage();

  InferenceHandler(
      RequestStages stages,
      Cells cells,
      Dispatcher dispatcher,
      @Nullable AnswerCache answers,
      CallerLimits limits,
      RequestTelemetry.Services services,
      GatewaySettings settings) {
    this.parser = stages.parser();
    this.preparer = stages.preparer();
    this.cells = cells;
    this.dispatcher = dispatcher;
    this.cached = answers == null ? null : new CachedAnswers(answers);
    this.limits = limits;
    this.services = services;
    this.metrics = services.metrics();
    this.settings = settings;
    this.keepAlives = new KeepAlives(settings.keepAlive(), metrics::keepAliveSent, services.clock());
    this.forwarded = new ForwardedHeaders(settings.forwarding(), settings.scheme());
  }

  /** Stops keeping streams alive. */
  @Override
  public void close() {
    keepAlives.close();
  }

  Response answer(InboundRequest inbound, ApiPath api) throws InterruptedException {
    RequestTelemetry telemetry = new RequestTelemetry(services, api, inbound);
    ApiBoundary boundary = new ApiBoundary(
        inbound.exchange(), telemetry.logIds(), error -> telemetry.end(new RequestEnd.Refused(error)));
    try {
      return limits.describe(boundary.answer(() -> answer(inbound, api, telemetry, boundary)), inbound);
    } catch (InterruptedException e) {
      telemetry.interrupted();
      throw e;
    }
  }

  private Response answer(InboundRequest inbound, ApiPath api, RequestTelemetry telemetry, ApiBoundary boundary)
      throws ApiException, InterruptedException {
    telemetry.admitted(limits.admit(inbound));
    if (WebSocketRequest.matches(api, inbound)) {
      WebSocketRequest.check(inbound.exchange(), settings.webSockets());
    }
    ParsedRequest parsed = parser.read(api, inbound.exchange().path(), inbound);
    String model = parsed.model();
    boolean known = cells.models().contains(model);
    telemetry.parsed(model, known, parsed.context().profile().name(), parsed.request().stream());
    if (isStored(api, parsed.request())) {
      telemetry.stored();
    }
    telemetry.stage("parse");
    telemetry.spans().read(parsed, inbound);
    CachedAnswers.WorkerAnswer worker = cancellation -> execute(parsed, inbound, cancellation, telemetry);
    if (inbound.handover() != null) {
      return worker.answer(inbound.exchange().cancellation());
    }
    ApiBoundary.AnswerSource source = () -> cached == null || !known
        ? worker.answer(inbound.exchange().cancellation())
        : cached.answer(
            new CachedAnswers.CacheableRequest(
                inbound.exchange(), parsed, telemetry, boundary, () -> preparer.urgency(parsed, inbound), worker));
    ErrorFormat format = ErrorFormat.forPath(inbound.exchange().path());
    KeepAlive keepAlive = parsed.request().stream() && api.generates()
        ? keepAlives.watch(
            inbound.exchange(),
            format,
            limits.describe(format.identified(EARLY, inbound.id()).toBuilder(), inbound).build())
        : null;
    return keepAlive == null ? source.answer() : keepAlive.answer(boundary, source);
  }

  private static boolean isStored(ApiPath api, ApiRequest request) {
    return api == ApiPath.RESPONSES && (request.body() == null || request.body().path("store").asBoolean(true));
  }

  private Response execute(
      ParsedRequest parsed, InboundRequest inbound, Cancellation cancellation,
      RequestTelemetry telemetry)
      throws ApiException, InterruptedException {
    Exchange exchange = inbound.exchange();
    ApiPath api = parsed.api();
    ApiRequest request = parsed.request();
    String model = parsed.model();
    ForwardedRequest workerRequest = parsed.forwarded();
    settings.forwarding().reserved().check(exchange.headers());
    UnreadBody unread = parsed.unread();
    if (unread != null && !unread.isReadable()) {
      settings.forwarding().reserved().checkUnread(exchange.body());
      exchange.memory().free((long) RequestMemory.READING_PER_BYTE * exchange.body().length);
    }
    if (unread != null) {
      metrics.bodyUnread(unread);
    }
    byte[] body = settings.forwarding().reserved().removeFrom(request.body(), workerRequest.body());
    if (body.length != workerRequest.body().length) {
      metrics.reservedFieldsRemoved(api);
    }
    RequestPreparer.PreparedRequest prepared =
        preparer.prepare(parsed, inbound, telemetry.preparation(), cancellation);
    telemetry.stage("prepare");
    int promptTokens = prepared.decision().prompt().tokens();
    telemetry.spans().prepared(prepared.prompt(), promptTokens);
    CallerLimits.reserve(telemetry.promptOf(promptTokens), api, request, promptTokens, exchange.path());
    telemetry.sampled(prepared.decision().prompt().chain());

    boolean unasked = settings.usageInjection() && UsageInjection.applies(api, request, body);
    boolean injected = unasked && unaskedUsage.isToBeInjected(telemetry.modelLabel());
    if (unasked && !injected) {
      telemetry.learnsUsage(unaskedUsage);
    }
    boolean webSocket = WebSocketRequest.matches(api, inbound);
    Call call = new Call(
        prepared.decision(),
        parsed.context().facts(),
        new Call.ClientHttp(
            exchange.method(),
            workerRequest.target(),
            forwarded(telemetry.spans().forwarded(exchange.headers()), exchange, webSocket),
            injected ? UsageInjection.inject(request, body) : body),
        new Call.ResponseRules(api.isRetryable(exchange.method()), api.generates(), injected, request.model() != null),
        parsed.context().profile().resumes(),
        RequestHints.of(exchange.headers()).ifCached(),
        telemetry.spans().traced());
    AnswerHeaders answers =
        new AnswerHeaders(prepared.profile(), inbound.caller().grants().routingDetails(), telemetry);
    Handover handover = inbound.handover();
    Result result =
        handover == null
            ? dispatcher.execute(call, cancellation, telemetry)
            : dispatcher.executeOnce(
                call, cancellation, telemetry, unread == null ? handover : unread.explained(handover));
    return switch (result) {
      case Result.Buffered buffered -> {
        telemetry.end(RequestEnd.Executed.answered(buffered.status(), buffered.report()));
        yield workerRequest.clientResponse(new Response.Buffered(
            buffered.status(), answers.of(buffered.headers(), buffered.route()), buffered.body()));
      }
      case Result.Streaming streaming -> {
        telemetry.streamStarted(streaming.status());
        Headers headers = answers.of(streaming.headers(), streaming.route());
        yield workerRequest.clientResponse(new Response.Streaming(
            streaming.status(), webSocket ? WebSocketRequest.named(headers) : headers, streaming.body()));
      }
      case Result.NoWorker(Decision.NoWorker none, _) -> throw new ApiException(noWorker(none, model, exchange.path()));
      case Result.Unreachable unreachable -> {
        ApiError error = unreachable(unreachable);
        telemetry.end(RequestEnd.Executed.answered(error.status(), unreachable.report()));
        yield ErrorFormat.forPath(exchange.path()).answer(error, inbound.id());
      }
      case Result.Quarantined quarantined -> {
        ApiError error = quarantined(quarantined.report());
        metrics.refusedBy(error.refusal());
        telemetry.end(RequestEnd.Executed.answered(error.status(), quarantined.report()));
        Response.Buffered answer = ErrorFormat.forPath(exchange.path()).answer(error, inbound.id());
        yield answer.with(answer.headers().toBuilder().set("X-Router-Reason", "quarantined").build());
      }
      case Result.ClientCancelled cancelled -> {
        telemetry.end(RequestEnd.Executed.cancelled(false, cancelled.report()));
        yield ClientCancelled.RESPONSE;
      }
    };
  }

  private Headers forwarded(Headers headers, Exchange exchange, boolean webSocket) {
    Headers ours = forwarded.request(headers, exchange.client());
    return webSocket ? WebSocketRequest.named(ours) : ours;
  }

  private static ApiError noWorker(Decision.NoWorker none, String model, String path) {
    ApiError error = switch (none.reason()) {
      case UNKNOWN_MODEL -> ApiError.unknownModel(model);
      case NONE_HEALTHY -> ApiError.of(503, "no_healthy_worker", none.detail()).retryAfter(2);
      case ALL_FULL -> ApiError.of(429, "all_workers_full", none.detail()).retryAfter(1);
      case NO_HOME -> ApiError.of(503, "no_cell_home", none.detail()).retryAfter(1);
      case CUT_OFF -> ApiError.of(503, "node_cut_off",
          "%s. Another node serves the request; with kvasir.cluster.minority = serve this one would, too."
              .formatted(none.detail())).retryAfter(1);
      case STOPPING -> ApiError.of(503, "unavailable", none.detail()).retryAfter(1);
      case NOT_ADMITTED -> notAdmitted(none, path);
      case NOT_CACHED -> ApiError.of(412, "prompt_not_cached", none.detail());
    };
    return error.refusedBy(GateRefusal.of(none));
  }

  /** 429 for what the caller has waiting itself; else the fleet is what is full, for which Anthropic's API has 529. */
  private static ApiError notAdmitted(Decision.NoWorker none, String path) {
    AdmissionRefusal refusal = none.refusal();
    if (refusal == null) {
      return ApiError.of(503, "overloaded", none.detail()).retryAfter(1);
    }
    boolean anthropic = ErrorFormat.forPath(path) == ErrorFormat.ANTHROPIC;
    String message =
        "%s (%d %s, and at most %d are allowed). Try again later.".formatted(
            switch (refusal.reason()) {
              case TENANT_QUEUE_FULL -> "Too many of your requests wait for a worker already";
              case QUEUE_FULL, QUEUE_BYTES -> "All workers are full, and too many requests wait already";
              case EXPECTED_WAIT -> "All workers are full, and the request would wait too long";
              case TIMEOUT -> "All workers are full, and the request has waited too long";
              case FIRST_WORKER -> "The model has no worker yet, and too many requests wait for the first one already";
              case OTHER -> "The request is not admitted";
            },
            refusal.measured(), refusal.unit(), refusal.limit());
    return ApiError.of(
            refusal.callersOwn() ? 429 : anthropic ? 529 : 503,
            refusal.callersOwn() ? "too_many_waiting" : "overloaded",
            message)
        .retryAfter(Duration.ofMillis(refusal.retryAfterMillis()));
  }

  private static ApiError quarantined(Report report) {
    String ended = report.tries() == 0
        ? "The connections of several workers ended under the same request a moment ago"
        : "The connections of several workers ended under this request";
    return ApiError.of(
        502, "request_quarantined",
        ended + ", so it may be what ended them, and no worker gets it for a while. Do not repeat it unchanged.")
        .retryAfter(ApiError.NEVER)
        .refusedBy(GateRefusal.of(GateRefusal.Gate.QUARANTINE, "execution.quarantine"));
  }

  private static ApiError unreachable(Result.Unreachable result) {
    int tries = result.report().tries();
    String message = "No worker answered: %d %s tried, the last failed with: %s.".formatted(
        tries, tries == 1 ? "was" : "were", result.why());
    return result.timedOut()
        ? ApiError.of(504, "worker_timeout", message)
        : ApiError.of(502, "worker_failed", message).retryAfter(1);
  }
}
