package io.kvasir.gateway;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.kvasir.access.Authentication;
import io.kvasir.access.Authenticator;
import io.kvasir.access.Caller;
import io.kvasir.answers.AnswerCache;
import io.kvasir.cell.Cells;
import io.kvasir.cell.WorkerStatus.Health;
import io.kvasir.cell.WorkerSummary;
import io.kvasir.events.PushEvents;
import io.kvasir.execution.dispatch.Dispatcher;
import io.kvasir.gateway.error.ApiBoundary;
import io.kvasir.gateway.error.ApiError;
import io.kvasir.gateway.error.ApiException;
import io.kvasir.gateway.error.ErrorFormat;
import io.kvasir.gateway.error.GateRefusal;
import io.kvasir.gateway.error.GatewayPaths;
import io.kvasir.gateway.error.RequestIds;
import io.kvasir.gateway.forwarding.RetargetedExchange;
import io.kvasir.gateway.forwarding.ServedPaths;
import io.kvasir.gateway.request.InboundRequest;
import io.kvasir.gateway.request.ProxiedRequest;
import io.kvasir.gateway.request.RequestStages;
import io.kvasir.gateway.request.WebSocketRequest;
import io.kvasir.gateway.traffic.SampledChains;
import io.kvasir.gateway.traffic.TenantMetrics;
import io.kvasir.gateway.traffic.TenantTraffic;
import io.kvasir.http.ApiPath;
import io.kvasir.http.Headers;
import io.kvasir.http.server.ArrivedRequest;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.HttpHandler;
import io.kvasir.http.server.ReachedLimit;
import io.kvasir.http.server.RequestFailure;
import io.kvasir.http.server.Response;
import io.kvasir.limits.LimitReservation;
import io.kvasir.locations.StoredResponses;
import io.kvasir.prompt.Prompts;
import io.kvasir.routing.LiveProfiles;
import io.kvasir.telemetry.LogIds;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.kvasir.tracing.Tracing;
import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The front door's handler: finds what a path stands for, and sees to it that every answer, errors too,
 * carries the request's id and speaks the API's own language. Thread-safe.
 */
public final class Gateway implements HttpHandler, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Gateway.class);
  private static final Headers JSON = Headers.of("Content-Type", "application/json");

  private final Authenticator authenticator;
  private final Cells cells;
  private final ModelsHandler models;
  private final EventsHandler events;
  private final InferenceHandler inference;
  private final RouteHandler dryRun;
  private final CallerLimits limits;
  private final ServedPaths paths;
  private final TenantTraffic tenants;
  private final SampledChains chains;
  private final GatewayMetrics metrics;
  private final Tracing tracing;
  private final NanoClock clock;

  /** A gateway over these rooms; it owns none of them. Without {@code answers} no answer is kept. */
  public Gateway(
      GatewayAccess access,
      Prompts prompts,
      LiveProfiles profiles,
      Cells cells,
      Dispatcher dispatcher,
      PushEvents events,
      EventForwarder forwarder,
      @Nullable AnswerCache answers,
      StoredResponses stored,
      GatewaySettings settings,
      Metrics metrics,
      Tracing tracing,
      NanoClock clock) {
    this.authenticator = access.authenticator();
    this.cells = cells;
    this.metrics = new GatewayMetrics(metrics);
    this.tracing = tracing;
    this.clock = clock;
    this.models = new ModelsHandler(cells);
    this.events = new EventsHandler(events, forwarder, cells);
    RequestStages stages =
        RequestStages.of(
            prompts,
            profiles,
            access.salts(),
            cells,
            stored,
            new RequestStages.Settings(settings.webSockets(), settings.programs(), settings.admission()),
            this.metrics::preparedLate);
    this.tenants = new TenantTraffic(clock);
    TenantMetrics.register(tenants, metrics);
    this.chains = new SampledChains(InstantSource.system());
    RequestTelemetry.Services services =
        new RequestTelemetry.Services(this.metrics, tenants, chains, stored, access.log(), tracing, clock);
    this.limits = new CallerLimits(access.limiter());
    this.inference = new InferenceHandler(stages, cells, dispatcher, answers, limits, services, settings);
    this.paths = settings.forwarding().paths();
    this.dryRun = new RouteHandler(stages, cells, paths);
  }

  private static LogIds logIds(Exchange exchange, String requestId) {
    return new LogIds(requestId, InboundRequest.traceId(exchange.headers()));
  }

  @Override
  public Response handle(Exchange exchange) throws InterruptedException {
    return answer(exchange, requestId -> route(RetargetedExchange.of(exchange), requestId));
  }

  /**
   * Has a request decided on that a proxy sends to its worker itself, and answers it with the worker's response as it
   * is to reach the client. What the gateway does not understand goes to a worker all the same.
   */
  public Response handle(ProxiedRequest request) throws InterruptedException {
    return answer(request.exchange(), requestId -> routeProxied(request, requestId));
  }

  /** Answers a request that has an id. */
  @FunctionalInterface
  private interface IdentifiedSource {
    Response answer(String requestId) throws ApiException, InterruptedException;
  }

  private Response answer(Exchange exchange, IdentifiedSource source) throws InterruptedException {
    String requestId = RequestIds.of(exchange.headers());
    ApiBoundary boundary = new ApiBoundary(
        exchange, logIds(exchange, requestId), error -> refused(arrived(exchange), requestId, error));
    Response answer = boundary.answer(() -> source.answer(requestId));
    ErrorFormat format = ErrorFormat.of(exchange.path(), exchange.headers());
    return answer.with(format.identified(answer.headers(), requestId));
  }

  /** The traffic of its callers by tenant. */
  public TenantTraffic tenants() {
    return tenants;
  }

  /** A sample of the blocks of its requests' prompts. */
  public SampledChains chains() {
    return chains;
  }

  /** Stops keeping streams alive. */
  @Override
  public void close() {
    inference.close();
  }

  /** A client without credentials is refused before its body comes. */
  @Override
  public Response.@Nullable Buffered refusal(ArrivedRequest request) {
    String path = request.path();
    Headers headers = request.headers();
    if (EventsHandler.matches(path) || path.equals("/health")) {
      return null;
    }
    ApiError error = refusal(authenticator.authenticate(headers));
    if (error == null) {
      return null;
    }
    return refused(request, error);
  }

  @Override
  public Response.Buffered failure(ArrivedRequest request, RequestFailure why) {
    ReachedLimit limit = why.limit();
    return failure(request, why, limit == null ? null : GateRefusal.of(limit));
  }

  /** The answer to a proxy's request that has none of {@link #handle(ProxiedRequest)}. */
  public Response.Buffered proxiedFailure(ArrivedRequest request, RequestFailure why) {
    ReachedLimit limit = why.limit();
    return failure(request, why, limit == null ? null : GateRefusal.of(limit).atPicker());
  }

  private Response.Buffered failure(ArrivedRequest request, RequestFailure why, @Nullable GateRefusal refusal) {
    int status = why.status();
    String code = switch (status) {
      case 408 -> "request_timeout";
      case 413 -> "request_too_large";
      case 414 -> "uri_too_long";
      case 415 -> "unsupported_encoding";
      case 431 -> "headers_too_large";
      case 500 -> "internal_error";
      case 503 -> "unavailable";
      default -> "bad_request";
    };
    ApiError error = ApiError.of(status, code, why.message()).refusedBy(refusal);
    // At debug: whoever sends malformed requests would fill the log.
    LOG.debug("a request to {} refused with {}: {}", request.path(), status, why.message());
    return refused(request, status == 503 ? error.retryAfter(1) : error);
  }

  /** The answer to a request that has not reached {@link #handle}. */
  private Response.Buffered refused(ArrivedRequest request, ApiError error) {
    String id = RequestIds.of(request.headers());
    refused(request, id, error);
    ErrorFormat format = ErrorFormat.of(request.path(), request.headers());
    Response.Buffered answer = format.answer(error, id);
    return new Response.Buffered(error.status(), format.identified(answer.headers(), id), answer.body());
  }

  /** Records a request that has not reached an API. */
  private void refused(ArrivedRequest request, String id, ApiError error) {
    metrics.requestRefused(error);
    RequestTracing.refused(tracing, request, id, error, clock);
  }

  @Override
  public void unanswered(ReachedLimit limit) {
    metrics.refusedBy(GateRefusal.of(limit));
  }

  private Response route(Exchange exchange, String requestId) throws ApiException, InterruptedException {
    String path = exchange.path();
    String method = exchange.method();
    if (path.equals("/health")) {
      return reading(method) ? health() : wrongMethod(exchange, requestId, "GET, HEAD");
    }
    if (GatewayPaths.isOfModels(path)) {
      InboundRequest inbound = inbound(exchange, requestId);
      return reading(method) ? models.answer(inbound) : wrongMethod(exchange, requestId, "GET, HEAD");
    }
    if (GatewayPaths.isDryRun(path)) {
      InboundRequest inbound = inbound(exchange, requestId);
      return method.equals("POST") ? explain(inbound) : wrongMethod(exchange, requestId, "POST");
    }
    if (EventsHandler.matches(path)) {
      // Engines have keys of their own.
      return method.equals("POST") ? events.answer(exchange) : wrongMethod(exchange, requestId, "POST");
    }
    InboundRequest inbound = inbound(exchange, requestId);
    ApiPath api = paths.at(path);
    if (api == null) {
      throw new ApiException(ServedPaths.unknown(path));
    }
    if (api.postOnly() && !method.equals("POST")) {
      return wrongMethod(exchange, requestId, "POST");
    }
    if (api.webSocketOnly() && !WebSocketRequest.matches(api, inbound)) {
      return upgradeRequired(exchange, requestId);
    }
    return inference.answer(inbound, api);
  }

  private Response routeProxied(ProxiedRequest request, String requestId) throws ApiException, InterruptedException {
    Exchange exchange = request.exchange();
    Caller caller = request.needsKey() ? inbound(exchange, requestId).caller() : Caller.anonymous(true);
    InboundRequest inbound = new InboundRequest(exchange, requestId, caller, request.handover());
    if (GatewayPaths.isOfModels(exchange.path()) && reading(exchange.method())) {
      return models.answer(inbound);
    }
    ApiPath api = ApiPath.at(exchange.path());
    if (api == null || (api.postOnly() && !exchange.method().equals("POST"))) {
      return inference.answer(inbound, ApiPath.OTHER);
    }
    return inference.answer(inbound, api);
  }

  /** A dry run is a request of its caller: it takes the router as much work as any other. */
  private Response explain(InboundRequest inbound) throws ApiException, InterruptedException {
    LimitReservation reservation = limits.admit(inbound);
    try {
      return limits.describe(dryRun.answer(inbound), inbound);
    } finally {
      reservation.release();
    }
  }

  /**
   * Explains how a request would be routed, for an administrator: as that of the caller whose key it has, or of
   * anybody, but with the details that not every caller is shown. It counts for no limit and no metric of requests.
   *
   * @param request to the path of an API
   * @param profile the profile to decide by; null for the one that the request would go by
   */
  public Response explain(Exchange request, @Nullable String profile) throws InterruptedException {
    String requestId = RequestIds.of(request.headers());
    return new ApiBoundary(request, logIds(request, requestId), _ -> {}).answer(() -> {
      Exchange explained = RetargetedExchange.of(request);
      Caller caller =
          request.headers().has("Authorization") || request.headers().has("x-api-key")
              ? inbound(explained, requestId).caller()
              : Caller.anonymous(true);
      return dryRun.answer(new InboundRequest(explained, requestId, caller.explained(profile)), explained.path());
    });
  }

  private InboundRequest inbound(Exchange exchange, String requestId) throws ApiException {
    Authentication result = authenticator.authenticate(exchange.headers());
    if (result instanceof Authentication.Accepted(Caller caller)) {
      return new InboundRequest(exchange, requestId, caller);
    }
    throw new ApiException(Objects.requireNonNull(refusal(result)));
  }

  /** Why a request is not served whose credentials were checked with this result, null when it may be. */
  private static @Nullable ApiError refusal(Authentication result) {
    return switch (result) {
      case Authentication.Accepted _ -> null;
      case Authentication.Unavailable(String message) -> ApiError.of(503, "keys_not_ready", message).retryAfter(1);
      case Authentication.Refused(_, String message) -> ApiError.unauthenticated(message);
    };
  }

  private static ArrivedRequest arrived(Exchange exchange) {
    return new ArrivedRequest(exchange.method(), exchange.target(), exchange.headers(), exchange.client());
  }

  private Response health() {
    List<WorkerSummary> workers = cells.workers();
    long healthy = workers.stream().filter(worker -> worker.health() == Health.HEALTHY).count();
    String body = JsonNodeFactory.instance.objectNode()
        .put("status", "ok")
        .put("workers", workers.size())
        .put("healthy", healthy)
        .toString();
    return new Response.Buffered(200, JSON, body.getBytes(StandardCharsets.UTF_8));
  }

  private static boolean reading(String method) {
    return method.equals("GET") || method.equals("HEAD");
  }

  private Response upgradeRequired(Exchange exchange, String requestId) {
    ApiError error = WebSocketRequest.required(exchange.path());
    refused(arrived(exchange), requestId, error);
    Response.Buffered answer = ErrorFormat.of(exchange.path(), exchange.headers()).answer(error, requestId);
    return answer.with(WebSocketRequest.named(answer.headers()));
  }

  private Response wrongMethod(Exchange exchange, String requestId, String allowed) {
    String message = "%s does not take %s, but %s.".formatted(exchange.path(), exchange.method(), allowed);
    ApiError error = ApiError.of(405, "method_not_allowed", message);
    refused(arrived(exchange), requestId, error);
    Response.Buffered answer = ErrorFormat.of(exchange.path(), exchange.headers()).answer(error, requestId);
    return new Response.Buffered(405, answer.headers().toBuilder().add("Allow", allowed).build(), answer.body());
  }
}
