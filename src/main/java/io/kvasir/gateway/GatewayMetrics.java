package io.kvasir.gateway;

import io.kvasir.cell.CachedTokens;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.Report;
import io.kvasir.gateway.body.UnreadBody;
import io.kvasir.gateway.error.ApiError;
import io.kvasir.gateway.error.ClientCancelled;
import io.kvasir.gateway.error.GateRefusal;
import io.kvasir.http.ApiPath;
import io.kvasir.telemetry.Metrics;
import io.kvasir.tracing.TraceContext;
import io.prometheus.metrics.core.datapoints.DistributionDataPoint;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Gauge;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.Labels;
import org.jspecify.annotations.Nullable;

/**
 * What operators see of requests. Models are labelled by name only when the fleet knows them, all others
 * as {@link #UNKNOWN_MODEL}: clients must not be able to make series. Profiles are the operator's own. Thread-safe.
 */
final class GatewayMetrics {
  static final String UNKNOWN_MODEL = "unknown";

  /** The profile of a request that was refused before it had one. */
  static final String NO_PROFILE = "none";

  private static final double NANOS = 1e9;

  private final Counter requests;
  private final Histogram seconds;
  private final Histogram ttft;
  private final Histogram stages;
  private final Histogram bodyBytes;
  private final Histogram perOutputToken;
  private final Histogram betweenOutputTokens;
  private final Gauge inFlight;
  private final Counter refusals;
  private final Counter aborts;
  private final Counter keepAlives;
  private final Counter late;
  private final Counter reservedFields;
  private final Counter unreadBodies;
  private final Counter cachedTokens;
  private final Counter regretTokens;
  private final Counter promptTokens;
  private final Counter outputTokens;
  private final Counter predictions;
  private final Histogram predictionError;

  GatewayMetrics(Metrics metrics) {
    PrometheusRegistry registry = metrics.registry();
    requests = Counter.builder()
        .name("kvasir_requests_total")
        .help("Requests answered, by class of status (499: the client disconnected); api none: no API was reached;"
            + " profile none: refused before one was chosen")
        .labelNames("api", "model", "profile", "status", "stream")
        .register(registry);
    seconds = histogram("kvasir_request_seconds", "From a request's arrival to the end of its answer")
        .withExemplars()
        .classicExponentialUpperBounds(0.001, 2, 20)
        .labelNames("api")
        .register(registry);
    ttft = histogram("kvasir_ttft_seconds", "From a request's arrival to the first token of its stream")
        .withExemplars()
        .classicExponentialUpperBounds(0.001, 2, 18)
        .labelNames("model", "profile")
        .register(registry);
    stages = histogram("kvasir_stage_seconds",
        "Time of a request in each stage: parse, prepare, decide (all tries), head (the worker's first sign)")
        .classicExponentialUpperBounds(1e-6, 4, 14)
        .labelNames("stage")
        .register(registry);
    // Bounds are those of llm-d's picker, under whose names these are shown, too.
    bodyBytes = histogram("kvasir_request_body_bytes", "Length of requests' bodies as clients sent them")
        .classicExponentialUpperBounds(64, 2, 25)
        .labelNames("model")
        .register(registry);
    perOutputToken = histogram(
            "kvasir_request_output_token_seconds",
            "From a request's arrival to the end of its answer, divided by the tokens generated; by request")
        .classicUpperBounds(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
        .labelNames("model")
        .register(registry);
    betweenOutputTokens = histogram(
            "kvasir_request_decode_token_seconds",
            "From a stream's first token to its end, divided by the tokens generated after the first; by request")
        .classicUpperBounds(
            0.0005, 0.00205, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.125, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 2)
        .labelNames("model")
        .register(registry);
    inFlight = Gauge.builder()
        .name("kvasir_requests_in_flight")
        .help("Requests being served now")
        .labelNames("api")
        .register(registry);
    late = Counter.builder()
        .name("kvasir_prepared_late_total")
        .help("Requests whose preparers waited for an answer that did not come in time, by profile")
        .labelNames("profile")
        .register(registry);
    keepAlives = Counter.builder()
        .name("kvasir_keep_alives_total")
        .help("Keep-alives sent on streams that were silent for long, by whether the answer had begun")
        .labelNames("phase")
        .register(registry);
    refusals = Counter.builder()
        .name("kvasir_refusals_total")
        .help("Requests refused for want of something that others use or their caller has used up, by gate and by the"
            + " setting that moves it")
        .labelNames("gate", "knob")
        .register(registry);
    aborts = Counter.builder()
        .name("kvasir_client_aborts_total")
        .help("Clients that disconnected before their answer was complete, by whether it had begun")
        .labelNames("phase")
        .register(registry);
    reservedFields = Counter.builder()
        .name("kvasir_reserved_fields_removed_total")
        .help("Requests whose body had fields that only the router may set, which were removed")
        .labelNames("api")
        .register(registry);
    unreadBodies = Counter.builder()
        .name("kvasir_unread_bodies_total")
        .help("Requests of gateways that were placed by load alone because their prompt could not be read: empty (no"
            + " body is shown), unfit (not what the API wants), malformed (no JSON), excessive (nested too deeply, a"
            + " name or number too long), memory (more values than there is memory for), coding (it cannot be removed)")
        .labelNames("reason")
        .register(registry);
    cachedTokens = Counter.builder()
        .name("kvasir_cached_tokens_total")
        .help("Prompt tokens found cached, by kind: actual as engines reported, predicted of the chosen worker, best"
            + " held by any worker that could have been chosen, ever seen by the cell; all of them only for requests"
            + " whose engine reported them. By role of the step that read the prompt and by its size in tokens, up to")
        .labelNames("kind", "model", "profile", "role", "size")
        .register(registry);
    regretTokens = Counter.builder()
        .name("kvasir_regret_tokens_total")
        .help("Prompt tokens computed although another worker that could have been chosen held them (best - predicted);"
            + " of the same requests as kvasir_cached_tokens_total")
        .labelNames("model", "profile", "role", "size")
        .register(registry);
    promptTokens = Counter.builder()
        .name("kvasir_usage_prompt_tokens_total")
        .help("Prompt tokens as engines counted them, by whether the engine reported cached ones, by role of the step"
            + " that read the prompt and by its size in tokens, up to")
        .labelNames("model", "profile", "cache_report", "role", "size")
        .register(registry);
    outputTokens = Counter.builder()
        .name("kvasir_usage_output_tokens_total")
        .help("Tokens generated, as engines counted them")
        .labelNames("model", "profile")
        .register(registry);
    predictions = Counter.builder()
        .name("kvasir_predictions_total")
        .help("Predictions of cached tokens against the engine's report: exact, over, under, unreported;"
            + " unconfirmed when only blocks were missing that no event of the engine had confirmed yet")
        .labelNames("model", "profile", "result")
        .register(registry);
    predictionError = histogram("kvasir_prediction_error_tokens", "Distance of predicted and reported cached tokens")
        .withExemplars()
        .classicUpperBounds(0, 16, 64, 256, 1024, 4096, 16384, 65536)
        .labelNames("model")
        .register(registry);
  }

  private static Histogram.Builder histogram(String name, String help) {
    return Histogram.builder().name(name).help(help).classicOnly();
  }

  void reservedFieldsRemoved(ApiPath api) {
    reservedFields.labelValues(api.label()).inc();
  }

  /** Counts a request that was placed without a look at its prompt. */
  void bodyUnread(UnreadBody why) {
    unreadBodies.labelValues(why.label()).inc();
  }

  void requestStarted(ApiPath api) {
    inFlight.labelValues(api.label()).inc();
  }

  /** Counts a request; {@code trace} is what its exemplar names, null for none. */
  void requestEnded(
      ApiPath api, String model, String profile, int status, boolean stream, long nanos,
      @Nullable TraceContext trace) {
    inFlight.labelValues(api.label()).dec();
    String statusClass = status == ClientCancelled.STATUS ? "499" : status / 100 + "xx";
    requests.labelValues(api.label(), model, profile, statusClass, Boolean.toString(stream)).inc();
    observe(seconds.labelValues(api.label()), nanos / NANOS, trace);
  }

  /** Counts a preparer that went on without what it waited for. */
  void preparedLate(String profile) {
    late.labelValues(profile).inc();
  }

  /** Counts a request that was refused before it reached an API: a path without one, a body too long … */
  void requestRefused(int status) {
    requests.labelValues("none", UNKNOWN_MODEL, NO_PROFILE, status / 100 + "xx", "false").inc();
  }

  /** Counts a request that was refused with an error before it reached an API. */
  void requestRefused(ApiError error) {
    requestRefused(error.status());
    refusedBy(error.refusal());
  }

  /** Counts the gate that refused a request; nothing for null. */
  void refusedBy(@Nullable GateRefusal refusal) {
    if (refusal != null) {
      refusals.labelValues(refusal.gate().label(), refusal.knob()).inc();
    }
  }

  void stage(String stage, long nanos) {
    stages.labelValues(stage).observe(nanos / NANOS);
  }

  /** Counts a stream's first token; {@code trace} is what its exemplar names, null for none. */
  void firstToken(String model, String profile, long nanos, @Nullable TraceContext trace) {
    observe(ttft.labelValues(model, profile), nanos / NANOS, trace);
  }

  /** Counts the length of a request's body. */
  void bodyRead(String model, int bytes) {
    bodyBytes.labelValues(model).observe(bytes);
  }

  /**
   * Counts the pace of an answer that ended well.
   *
   * @param nanos from the request's arrival
   * @param ttftNanos from there to the first token of a stream, negative where it did not stream
   * @param tokens generated, at least 1
   */
  void generated(String model, long nanos, long ttftNanos, int tokens) {
    perOutputToken.labelValues(model).observe(nanos / NANOS / tokens);
    if (ttftNanos >= 0 && tokens > 1) {
      betweenOutputTokens.labelValues(model).observe((nanos - ttftNanos) / NANOS / (tokens - 1));
    }
  }

  /** Counts a keep-alive. */
  void keepAliveSent(boolean waiting) {
    keepAlives.labelValues(waiting ? "waiting" : "streaming").inc();
  }

  void clientAborted(boolean begun) {
    aborts.labelValues(begun ? "streaming" : "waiting").inc();
  }

  /** Compares what the index predicted with what the engine reports. */
  void usage(
      String model, String profile, Report.CachePrediction prediction, Report.TokenUsage usage,
      @Nullable TraceContext trace) {
    boolean reported = usage.cachedTokens() != Outcome.UNKNOWN;
    String role = prediction.role().label();
    String size = size(usage.promptTokens());
    if (usage.promptTokens() != Outcome.UNKNOWN) {
      promptTokens.labelValues(model, profile, Boolean.toString(reported), role, size).inc(usage.promptTokens());
    }
    if (usage.outputTokens() != Outcome.UNKNOWN) {
      outputTokens.labelValues(model, profile).inc(usage.outputTokens());
    }
    if (!reported) {
      predictions.labelValues(model, profile, "unreported").inc();
      return;
    }
    CachedTokens known = prediction.tokens();
    int predicted = known.predicted();
    int actual = usage.cachedTokens();
    cachedTokens.labelValues("ever", model, profile, role, size).inc(known.ever());
    cachedTokens.labelValues("best", model, profile, role, size).inc(known.best());
    cachedTokens.labelValues("predicted", model, profile, role, size).inc(predicted);
    cachedTokens.labelValues("actual", model, profile, role, size).inc(actual);
    regretTokens.labelValues(model, profile, role, size).inc(known.avoidable());
    predictions.labelValues(model, profile, result(predicted, known.confirmed(), actual)).inc();
    observe(predictionError.labelValues(model), Math.abs(predicted - actual), trace);
  }

  private static void observe(DistributionDataPoint histogram, double value, @Nullable TraceContext trace) {
    if (trace == null) {
      histogram.observe(value);
    } else {
      histogram.observeWithExemplar(value, Labels.of("trace_id", trace.traceId(), "span_id", trace.spanId()));
    }
  }

  /** The class of a prompt's size; few, since each is a series of every model, profile and role. */
  private static String size(int promptTokens) {
    return promptTokens == Outcome.UNKNOWN ? "unknown"
        : promptTokens <= 1 << 10 ? "1k"
        : promptTokens <= 4 << 10 ? "4k"
        : promptTokens <= 16 << 10 ? "16k"
        : promptTokens <= 64 << 10 ? "64k"
        : "more";
  }

  private static String result(int predicted, int confirmed, int actual) {
    return predicted == actual ? "exact"
        : predicted < actual ? "under"
        : confirmed > actual ? "over"
        : "unconfirmed";
  }
}
