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
import io.kvasir.http.ApiPath;
import io.kvasir.http.Headers;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.HttpHandler;
import io.kvasir.http.server.Response;
import io.kvasir.limits.LimitReservation;
import io.kvasir.prompt.Prompts;
import io.kvasir.routing.LiveProfiles;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import java.nio.charset.StandardCharsets;
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
  private final GatewayMetrics metrics;

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
      GatewaySettings settings,
      Metrics metrics,
      NanoClock clock) {
    this.authenticator = access.authenticator();
    this.cells = cells;
    this.metrics = new GatewayMetrics(metrics);
    this.models = new ModelsHandler(cells);
    this.events = new EventsHandler(events, forwarder, cells);
    StoredResponses stored = new StoredResponses(settings.storedResponses());
    RequestPreparer preparer =
        new RequestPreparer(
            prompts,
            new ProfileResolver(profiles, this.metrics),
            new CallerIsolation(access.salts()),
            cells,
            stored);
    RequestTrace.Services traces = new RequestTrace.Services(this.metrics, stored, access.log(), clock);
    this.limits = new CallerLimits(access.limiter());
    this.inference = new InferenceHandler(preparer, cells, dispatcher, answers, limits, traces, settings);
    this.paths = settings.forwarding().paths();
    this.dryRun = new RouteHandler(preparer, cells, paths);
  }

  @Override
  public Response handle(Exchange exchange) throws InterruptedException {
    String requestId = RequestIds.of(exchange.headers());
    ApiBoundary boundary = new ApiBoundary(exchange, requestId, error -> metrics.requestRefused(error.status()));
    Response answer = boundary.answer(() -> route(RetargetedExchange.of(exchange), requestId));
    ErrorFormat format = ErrorFormat.of(exchange.path(), exchange.headers());
    return answer.with(format.identified(answer.headers(), requestId));
  }

  /** Stops keeping streams alive. */
  @Override
  public void close() {
    inference.close();
  }

  /** A client without credentials is refused before its body comes. */
  @Override
  public Response.@Nullable Buffered refusal(String target, Headers headers) {
    String path = path(target);
    if (EventsHandler.matches(path) || path.equals("/health")) {
      return null;
    }
    ApiError error = refusal(authenticator.authenticate(headers));
    if (error == null) {
      return null;
    }
    metrics.requestRefused(error.status());
    return identified(ErrorFormat.of(path, headers), error, RequestIds.of(headers));
  }

  @Override
  public Response.Buffered failure(String target, int status, String message) {
    String path = path(target);
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
    ApiError error = ApiError.of(status, code, message);
    metrics.requestRefused(status);
    // At debug: whoever sends malformed requests would fill the log.
    LOG.debug("a request to {} refused with {}: {}", path, status, message);
    return identified(
        ErrorFormat.forPath(path), status == 503 ? error.retryAfter(1) : error, RequestIds.generate());
  }

  private Response route(Exchange exchange, String requestId) throws ApiException, InterruptedException {
    String path = exchange.path();
    String method = exchange.method();
    if (path.equals("/health")) {
      return reading(method) ? health() : wrongMethod(exchange, requestId, "GET, HEAD");
    }
    if (ModelsHandler.matches(path)) {
      InboundRequest inbound = inbound(exchange, requestId);
      return reading(method) ? models.answer(inbound) : wrongMethod(exchange, requestId, "GET, HEAD");
    }
    if (RouteHandler.matches(path)) {
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

  private static String path(String target) {
    int query = target.indexOf('?');
    return query < 0 ? target : target.substring(0, query);
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

  private Response wrongMethod(Exchange exchange, String requestId, String allowed) {
    metrics.requestRefused(405);
    String message = "%s does not take %s, but %s.".formatted(exchange.path(), exchange.method(), allowed);
    Response.Buffered answer =
        ErrorFormat.of(exchange.path(), exchange.headers())
            .answer(ApiError.of(405, "method_not_allowed", message), requestId);
    return new Response.Buffered(405, answer.headers().toBuilder().add("Allow", allowed).build(), answer.body());
  }

  private static Response.Buffered identified(ErrorFormat format, ApiError error, String requestId) {
    Response.Buffered answer = format.answer(error, requestId);
    return new Response.Buffered(error.status(), format.identified(answer.headers(), requestId), answer.body());
  }
}
