package io.kvasir.gateway.admin.vitals;

import io.kvasir.telemetry.BucketCounts;
import io.kvasir.telemetry.MetricWindow;
import io.kvasir.telemetry.MetricWindow.Figures;
import io.prometheus.metrics.model.snapshots.Labels;
import java.util.Set;
import java.util.function.Predicate;

/**
 * A vital figure that adds up over nodes: how often something happens a second, or how many there are of it now. Nodes
 * tell each other figures by place, so that a new one has the next place, and none loses its own.
 */
public enum VitalFigure {
  REQUESTS(0, "kvasir_requests"),
  /** Answers with a status from 500 up. */
  ERRORS(1, "kvasir_requests", "status", "5xx"),
  REFUSALS(2, "kvasir_refusals"),
  /** KV events of engines. */
  EVENTS(3, "kvasir_events"),
  IN_FLIGHT(4, "kvasir_requests_in_flight"),
  /** Requests that wait in the router: to be prepared, or for their turn at a worker. */
  WAITING(5, "kvasir_preparations_waiting"),
  PROMPT_TOKENS(6, "kvasir_usage_prompt_tokens"),
  OUTPUT_TOKENS(7, "kvasir_usage_output_tokens"),
  /** Prompt tokens of requests whose engine says how many of them it had cached: the tokens below are of these. */
  REPORTED_TOKENS(8, "kvasir_usage_prompt_tokens", "cache_report", "true"),
  EVER_TOKENS(9, "kvasir_cached_tokens", "kind", "ever"),
  BEST_TOKENS(10, "kvasir_cached_tokens", "kind", "best"),
  PROMISED_TOKENS(11, "kvasir_cached_tokens", "kind", "predicted"),
  DELIVERED_TOKENS(12, "kvasir_cached_tokens", "kind", "actual"),
  REGRET_TOKENS(13, "kvasir_regret_tokens");

  private static final String IN_LINE = "kvasir_admission_waiting";

  /** The metrics all figures are made of, without their {@code _total}. */
  public static final Set<String> METRICS =
      Set.of(
          "kvasir_requests", "kvasir_refusals", "kvasir_events", "kvasir_requests_in_flight",
          "kvasir_preparations_waiting", IN_LINE, "kvasir_usage_prompt_tokens", "kvasir_usage_output_tokens",
          "kvasir_cached_tokens", "kvasir_regret_tokens", "kvasir_ttft_seconds");

  private final int place;
  private final String metric;
  private final String label;
  private final String value;

  VitalFigure(int place, String metric) {
    this(place, metric, "", "");
  }

  VitalFigure(int place, String metric, String label, String value) {
    this.place = place;
    this.metric = metric;
    this.label = label;
    this.value = value;
  }

  /** Where it stands among the figures of a node. */
  int place() {
    return place;
  }

  double read(Figures figures) {
    return switch (this) {
      case IN_FLIGHT -> figures.gauge(metric, MetricWindow.ALL);
      case WAITING -> figures.gauge(metric, MetricWindow.ALL) + figures.gauge(IN_LINE, MetricWindow.ALL);
      case REQUESTS, ERRORS, REFUSALS, EVENTS, PROMPT_TOKENS, OUTPUT_TOKENS, REPORTED_TOKENS, EVER_TOKENS, BEST_TOKENS,
          PROMISED_TOKENS, DELIVERED_TOKENS, REGRET_TOKENS -> figures.rate(metric, series());
    };
  }

  /** How many streams a second had their first token after how many seconds. */
  static BucketCounts ttft(Figures figures) {
    double seconds = figures.seconds();
    BucketCounts observed = figures.buckets("kvasir_ttft_seconds", MetricWindow.ALL);
    return seconds > 0
        ? new BucketCounts(
            observed.upperBounds(), observed.counts().stream().map(count -> count / seconds).toList()).trimmed()
        : BucketCounts.EMPTY;
  }

  private Predicate<Labels> series() {
    return label.isEmpty() ? MetricWindow.ALL : labels -> value.equals(labels.get(label));
  }
}
