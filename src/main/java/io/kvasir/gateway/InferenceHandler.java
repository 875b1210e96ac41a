package io.kvasir.gateway;

import io.kvasir.answers.AnswerCache;
import io.kvasir.cell.Cells;
import io.kvasir.cell.Decision;
import io.kvasir.execution.Call;
import io.kvasir.execution.Result;
import io.kvasir.execution.UpstreamRoute;
import io.kvasir.execution.workflow.Dispatcher;
import io.kvasir.http.Cancellation;
import io.kvasir.http.Headers;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.Response;
import io.kvasir.routing.Worker;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A request that a worker will answer: read, prepared, decided and carried out, and the answer passed on
 * with the name of who gave it.
 */
final class InferenceHandler implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(InferenceHandler.class);

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
  private final KeepAlives keepAlives;

  InferenceHandler(
      RequestPreparer intake,
      Cells cells,
      Dispatcher dispatcher,
      @Nullable AnswerCache answers,
      StoredResponses stored,
      GatewayMetrics metrics,
      GatewaySettings settings) {
    this.preparer = intake;
    this.cells = cells;
    this.dispatcher = dispatcher;
    this.cached = answers == null ? null : new CachedAnswers(answers);
    this.stored = stored;
    this.metrics = metrics;
    this.settings = settings;
    this.keepAlives = new KeepAlives(settings.keepAlive(), metrics);
  }

  /** Streams are not kept alive any more. */
  @Override
  public void close() {
    keepAlives.close();
  }

  Response answer(Exchange exchange, ApiPath api, String requestId) throws InterruptedException {
    RequestTrace trace = new RequestTrace(metrics, stored, api, requestId);
    ErrorFormat shape = ErrorFormat.forPath(exchange.path());
    try {
      return answer(exchange, api, requestId, trace, shape);
    } catch (ApiException e) {
      trace.refused(e.error());
      return shape.answer(e.error());
    } catch (RuntimeException e) {
      trace.refused(Gateway.INTERNAL);
      throw e;
    }
  }

  private Response answer(
      Exchange exchange, ApiPath api, String requestId, RequestTrace trace, ErrorFormat shape)
      throws ApiException, InterruptedException {
    RequestPreparer.ParsedRequest asked = preparer.read(api, exchange.path(), exchange);
    String model = asked.model();
    boolean known = cells.models().contains(model);
    trace.parsed(model, known, asked.context().profile().name(), asked.request().stream());
    trace.stage("parse");
    KeepAlive keepAlive = asked.request().stream() && api.streams()
        ? keepAlives.watch(exchange, shape, EARLY.toBuilder().set(RequestIds.HEADER, requestId).build())
        : null;
    CachedAnswers.WorkerAnswer live =
        cancellation -> carriedOut(asked, exchange, requestId, cancellation, trace, shape);
    AnswerSource given = () -> cached == null || !known
        ? live.answer(exchange.cancellation())
        : cached.answer(exchange, asked.request(), asked.context(), trace, shape, live);
    return keepAlive == null ? given.answer() : keptAlive(keepAlive, given, requestId, trace, shape);
  }

  /** What a worker answers now, or has answered before. */
  @FunctionalInterface
  private interface AnswerSource {
    Response answer() throws ApiException, InterruptedException;
  }

  /** From here on every answer, errors too, has to pass by what keeps the stream alive. */
  private static Response keptAlive(
      KeepAlive keepAlive, AnswerSource given, String requestId, RequestTrace trace, ErrorFormat shape)
      throws InterruptedException {
    try {
      return keepAlive.wrap(given.answer());
    } catch (ApiException e) {
      trace.refused(e.error());
      return keepAlive.wrap(shape.answer(e.error()));
    } catch (RuntimeException e) {
      LOG.error("request {} failed inside the router", requestId, e);
      trace.refused(Gateway.INTERNAL);
      return keepAlive.wrap(shape.answer(Gateway.INTERNAL));
    } catch (InterruptedException e) {
      keepAlive.abandon();
      throw e;
    }
  }

  private Response carriedOut(
      RequestPreparer.ParsedRequest asked,
      Exchange exchange,
      String requestId,
      Cancellation cancellation,
      RequestTrace trace,
      ErrorFormat shape)
      throws ApiException, InterruptedException {
    Headers headers = exchange.headers();
    ApiPath api = asked.api();
    ApiRequest request = asked.request();
    String model = asked.model();
    RequestPreparer.PreparedRequest ready = preparer.prepare(asked, exchange, requestId);
    trace.stage("prepare");

    boolean injected = settings.usageInjection() && UsageInjection.applies(api, request);
    Call call = new Call(
        ready.decision(),
        asked.context().facts(),
        exchange.method(),
        exchange.target(),
        ForwardedHeaders.request(headers, exchange.client(), settings.scheme()),
        injected ? UsageInjection.inject(exchange.body()) : exchange.body(),
        api.isRetryable(exchange.method()),
        api.hasTerminator(),
        injected,
        asked.context().profile().resumes());
    String profile = Objects.requireNonNull(call.decision().profile(), "the arrival chose none");
    return switch (dispatcher.execute(call, cancellation, trace)) {
      case Result.Buffered whole -> {
        trace.finished(whole.status(), whole.report());
        yield new Response.Buffered(
            whole.status(), named(whole.headers(), whole.route(), profile), whole.body());
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
        yield shape.answer(error);
      }
      case Result.ClientCancelled left -> {
        trace.clientCancelled(left.report());
        yield ClientCancelled.RESPONSE;
      }
    };
  }

  static ApiError unknownModel(String model) {
    return new ApiError(
        404,
        "The model '%s' does not exist here. GET /v1/models lists those that do.".formatted(model),
        "model",
        "model_not_found",
        0);
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
      case UNKNOWN_MODEL -> unknownModel(model);
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
