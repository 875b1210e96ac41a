package io.kvasir.picker;

import io.kvasir.pools.ModelRewrite;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Gauge;
import io.prometheus.metrics.model.registry.PrometheusRegistry;

/** Metrics of the endpoint picker. Thread-safe. */
final class PickerMetrics {
  private final Counter streams;
  private final Gauge running;
  private final Counter servedElsewhere;
  private final Counter unseen;
  private final Counter rewrites;

  PickerMetrics(Metrics metrics) {
    PrometheusRegistry registry = metrics.registry();
    streams = Counter.builder()
        .name("kvasir_picker_streams_total")
        .help("Requests of gateways that ended, by outcome: picked (sent to a worker), answered (by the picker itself),"
            + " passed (the gateway answered before the picker), cancelled, failed")
        .labelNames("outcome")
        .register(registry);
    running = Gauge.builder()
        .name("kvasir_picker_streams_running")
        .help("Requests of gateways that the picker has before it now")
        .register(registry);
    servedElsewhere = Counter.builder()
        .name("kvasir_picker_served_elsewhere_total")
        .help("Requests that a gateway did not send where the picker said, by whether the load was moved there (moved)"
            + " or no worker is known at that address (unknown)")
        .labelNames("load")
        .register(registry);
    unseen = Counter.builder()
        .name("kvasir_picker_unseen_answers_total")
        .help("Requests whose answer the gateway did not show, with early close or by its nature")
        .register(registry);
    rewrites = Counter.builder()
        .name("kvasir_picker_model_rewrites_total")
        .help("Requests whose model a rule of their pool has chosen, by the rule's object, by the model that they name"
            + " (other: the rule is for every name) and by the one that they get, which may be the same")
        .labelNames("rewrite", "model", "target")
        .register(registry);
  }

  void streamBegun() {
    running.inc();
  }

  void streamEnded(String outcome) {
    running.dec();
    streams.labelValues(outcome).inc();
  }

  void servedElsewhere(boolean moved) {
    servedElsewhere.labelValues(moved ? "moved" : "unknown").inc();
  }

  /** Counts a request that names this model, which a client may have made up. */
  void rewritten(ModelRewrite.Choice choice, String model) {
    rewrites.labelValues(choice.rewrite(), choice.exact() ? model : "other", choice.model()).inc();
  }

  void responseUnseen() {
    unseen.inc();
  }
}
