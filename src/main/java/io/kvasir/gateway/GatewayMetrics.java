package io.kvasir.gateway;

import io.kvasir.cell.Outcome;
import io.kvasir.execution.Report;
import io.kvasir.http.ApiPath;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Gauge;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;

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
  private final Gauge inFlight;
  private final Counter aborts;
  private final Counter keepAlives;
  private final Counter late;
  private final Counter reservedFields;
  private final Counter cachedTokens;
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
        .classicExponentialUpperBounds(0.001, 2, 20)
        .labelNames("api")
        .register(registry);
    ttft = histogram("kvasir_ttft_seconds", "From a request's arrival to the first token of its stream")
        .classicExponentialUpperBounds(0.001, 2, 18)
        .labelNames("model", "profile")
        .register(registry);
    stages = histogram("kvasir_stage_seconds",
        "Time of a request in each stage: parse, prepare, decide (all tries), head (the worker's first sign)")
        .classicExponentialUpperBounds(1e-6, 4, 14)
        .labelNames("stage")
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
    cachedTokens = Counter.builder()
        .name("kvasir_cached_tokens_total")
        .help("Prompt tokens found cached, as the index predicted and as engines reported;"
            + " both only for requests whose engine reported them")
        .labelNames("kind", "model", "profile")
        .register(registry);
    promptTokens = Counter.builder()
        .name("kvasir_usage_prompt_tokens_total")
        .help("Prompt tokens as engines counted them, by whether the engine reported cached ones")
        .labelNames("model", "profile", "cache_report")
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

  void requestStarted(ApiPath api) {
    inFlight.labelValues(api.label()).inc();
  }

  void requestEnded(ApiPath api, String model, String profile, int status, boolean stream, long nanos) {
    inFlight.labelValues(api.label()).dec();
    String statusClass = status == ClientCancelled.STATUS ? "499" : status / 100 + "xx";
    requests.labelValues(api.label(), model, profile, statusClass, Boolean.toString(stream)).inc();
    seconds.labelValues(api.label()).observe(nanos / NANOS);
  }

  /** Counts a preparer that went on without what it waited for. */
  void preparedLate(String profile) {
    late.labelValues(profile).inc();
  }

  /** Counts a request that was refused before it reached an API: a path without one, a body too long … */
  void requestRefused(int status) {
    requests.labelValues("none", UNKNOWN_MODEL, NO_PROFILE, status / 100 + "xx", "false").inc();
  }

  void stage(String stage, long nanos) {
    stages.labelValues(stage).observe(nanos / NANOS);
  }

  void firstToken(String model, String profile, long nanos) {
    ttft.labelValues(model, profile).observe(nanos / NANOS);
  }

  /** Counts a keep-alive. */
  void keepAliveSent(boolean waiting) {
    keepAlives.labelValues(waiting ? "waiting" : "streaming").inc();
  }

  void clientAborted(boolean begun) {
    aborts.labelValues(begun ? "streaming" : "waiting").inc();
  }

  /** Compares what the index predicted with what the engine reports. */
  void usage(String model, String profile, Report.CachePrediction prediction, Report.TokenUsage usage) {
    boolean reported = usage.cachedTokens() != Outcome.UNKNOWN;
    if (usage.promptTokens() != Outcome.UNKNOWN) {
      promptTokens.labelValues(model, profile, Boolean.toString(reported)).inc(usage.promptTokens());
    }
    if (usage.outputTokens() != Outcome.UNKNOWN) {
      outputTokens.labelValues(model, profile).inc(usage.outputTokens());
    }
    if (!reported) {
      predictions.labelValues(model, profile, "unreported").inc();
      return;
    }
    int predicted = prediction.cachedTokens();
    int actual = usage.cachedTokens();
    cachedTokens.labelValues("predicted", model, profile).inc(predicted);
    cachedTokens.labelValues("actual", model, profile).inc(actual);
    predictions.labelValues(model, profile, result(predicted, prediction.confirmedTokens(), actual)).inc();
    predictionError.labelValues(model).observe(Math.abs(predicted - actual));
  }

  private static String result(int predicted, int confirmed, int actual) {
    return predicted == actual ? "exact"
        : predicted < actual ? "under"
        : confirmed > actual ? "over"
        : "unconfirmed";
  }
}
