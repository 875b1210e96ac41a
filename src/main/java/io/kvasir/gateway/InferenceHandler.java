package io.kvasir.gateway;

import io.kvasir.answers.AnswerCache;
import io.kvasir.cell.Cells;
import io.kvasir.cell.Decision;
import io.kvasir.execution.Call;
import io.kvasir.execution.Result;
import io.kvasir.execution.UpstreamRoute;
import io.kvasir.execution.dispatch.Dispatcher;
import io.kvasir.http.ApiPath;
import io.kvasir.http.Cancellation;
import io.kvasir.http.Headers;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.Response;
import io.kvasir.routing.Worker;
import io.kvasir.time.NanoClock;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The handler of requests that a worker answers: reads and prepares them, has them executed, and passes the answer on
 * with the worker's name.
 */
final class InferenceHandler implements AutoCloseable {
  /** The head of a stream that begins before its worker is known. */
  private static final Headers EARLY =
      Headers.of("Content-Type", "text/event-stream; charset=utf-8", "Cache-Control", "no-cache");

  private final RequestPreparer preparer;
  private final Cells cells;
  private final Dispatcher dispatcher;
  private final @Nullable CachedAnswers cached;
  private final StoredResponses stored;
  private final GatewayMetrics metrics;
  private final GatewaySettings settings;
  private final NanoClock clock;
  private final KeepAlives keepAlives;
  private final ForwardedHeaders forwarded;

  InferenceHandler(
      RequestPreparer preparer,
      Cells cells,
      Dispatcher dispatcher,
      @Nullable AnswerCache answers,
      StoredResponses stored,
      GatewayMetrics metrics,
      GatewaySettings settings,
      NanoClock clock) {
    this.preparer = preparer;
    this.cells = cells;
    this.dispatcher = dispatcher;
    this.cached = answers == null ? null : new CachedAnswers(answers);
    this.stored = stored;
    this.metrics = metrics;
    this.settings = settings;
    this.clock = clock;
    this.keepAlives = new KeepAlives(settings.keepAlive(), metrics, clock);
    this.forwarded = new ForwardedHeaders(settings.forwarding(), settings.scheme());
  }

  /** Stops keeping streams alive. */
  @Override
  public void close() {
    keepAlives.close();
  }

  Response answer(Exchange exchange, ApiPath api, String requestId) throws InterruptedException {
    RequestTrace trace = new RequestTrace(metrics, stored, api, requestId, clock);
    ApiBoundary boundary = new ApiBoundary(exchange, requestId, trace::refused);
    return boundary.answer(() -> answer(exchange, api, requestId, trace, boundary));
  }

  private Response answer(
      Exchange exchange, ApiPath api, String requestId, RequestTrace trace, ApiBoundary boundary)
      throws ApiException, InterruptedException {
    RequestPreparer.ParsedRequest parsed = preparer.read(api, exchange.path(), exchange);
    String model = parsed.model();
    boolean known = cells.models().contains(model);
    trace.parsed(model, known, parsed.context().profile().name(), parsed.request().stream());
    trace.stage("parse");
    CachedAnswers.WorkerAnswer worker = cancellation -> execute(parsed, exchange, requestId, cancellation, trace);
    ApiBoundary.AnswerSource source = () -> cached == null || !known
        ? worker.answer(exchange.cancellation())
        : cached.answer(exchange, parsed.request(), parsed.context(), trace, boundary, worker);
    KeepAlive keepAlive = parsed.request().stream() && api.generates()
        ? keepAlives.watch(
            exchange,
            ErrorFormat.forPath(exchange.path()),
            EARLY.toBuilder().set(RequestIds.HEADER, requestId).build())
        : null;
    return keepAlive == null ? source.answer() : keptAlive(keepAlive, source, boundary);
  }

  /** From here on every answer, errors too, has to pass through what keeps the stream alive. */
  private static Response keptAlive(KeepAlive keepAlive, ApiBoundary.AnswerSource source, ApiBoundary boundary)
      throws InterruptedException {
    try {
      return keepAlive.wrap(boundary.answer(source));
    } catch (InterruptedException e) {
      keepAlive.abandon();
      throw e;
    }
  }

  private Response execute(
      RequestPreparer.ParsedRequest parsed,
      Exchange exchange,
      String requestId,
      Cancellation cancellation,
      RequestTrace trace)
      throws ApiException, InterruptedException {
    Headers headers = exchange.headers();
    ApiPath api = parsed.api();
    ApiRequest request = parsed.request();
    String model = parsed.model();
    settings.forwarding().reserved().check(headers);
    byte[] body = settings.forwarding().reserved().removeFrom(request.body(), exchange.body());
    if (body != exchange.body()) {
      metrics.reservedFieldsRemoved(api);
    }
    RequestPreparer.PreparedRequest prepared = preparer.prepare(parsed, exchange, requestId);
    trace.stage("prepare");

    boolean injected = settings.usageInjection() && UsageInjection.applies(api, request, body);
    Call call = new Call(
        prepared.decision(),
        parsed.context().facts(),
        new Call.ClientHttp(
            exchange.method(),
            exchange.target(),
            forwarded.request(headers, exchange.client()),
            injected ? UsageInjection.inject(body) : body),
        new Call.ResponseRules(api.isRetryable(exchange.method()), api.generates(), injected),
        parsed.context().profile().resumes());
    String profile = Objects.requireNonNull(call.decision().profile(), "the request has no profile");
    return switch (dispatcher.execute(call, cancellation, trace)) {
      case Result.Buffered buffered -> {
        trace.finished(buffered.status(), buffered.report());
        yield new Response.Buffered(
            buffered.status(), named(buffered.headers(), buffered.route(), profile), buffered.body());
      }
      case Result.Streaming streaming -> {
        trace.streamStarted(streaming.status());
        yield new Response.Streaming(
            streaming.status(),
            named(streaming.headers(), streaming.route(), profile),
            streaming.body());
      }
      case Result.NoWorker(Decision.NoWorker none, _) -> throw new ApiException(noWorker(none, model));
      case Result.Unreachable unreachable -> {
        ApiError error = unreachable(unreachable);
        trace.finished(error.status(), unreachable.report());
        yield ErrorFormat.forPath(exchange.path()).answer(error);
      }
      case Result.ClientCancelled cancelled -> {
        trace.clientCancelled(cancelled.report());
        yield ClientCancelled.RESPONSE;
      }
    };
  }

  private static Headers named(Headers headers, UpstreamRoute route, String profile) {
    Headers.Builder out = ForwardedHeaders.answer(headers)
        .set("X-Router-Backend", route.worker().id())
        .set(ProfileResolver.PROFILE, profile)
        .set("X-Router-Reason", visible(route.reason()));
    Worker prefill = route.prefill();
    if (prefill != null) {
      out.set("X-Router-Prefill-Backend", prefill.id());
    }
    return out.build();
  }

  private static String visible(String text) {
    for (int i = 0; i < text.length(); i++) {
      if (text.charAt(i) < ' ' || text.charAt(i) > '~') {
        return new String(text.getBytes(StandardCharsets.US_ASCII), StandardCharsets.US_ASCII)
            .replaceAll("\\p{Cntrl}", " ");
      }
    }
    return text;
  }

  private static ApiError noWorker(Decision.NoWorker none, String model) {
    return switch (none.reason()) {
      case UNKNOWN_MODEL -> ApiError.unknownModel(model);
      case NONE_HEALTHY -> ApiError.of(503, "no_healthy_worker", none.detail()).retryAfter(2);
      case ALL_FULL -> ApiError.of(429, "all_workers_full", none.detail()).retryAfter(1);
      case NO_HOME -> ApiError.of(503, "no_cell_home", none.detail()).retryAfter(1);
    };
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
