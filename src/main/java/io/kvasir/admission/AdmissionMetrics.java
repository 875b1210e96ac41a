package io.kvasir.admission;

import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;

/** What operators see of waiting rooms. One per node; thread-safe. */
public final class AdmissionMetrics {
  private final Histogram waits;
  private final Counter refusals;
  private final Map<String, Supplier<List<ClassStatus>>> rooms = new ConcurrentHashMap<>();

  /** Registers the metrics. */
  public AdmissionMetrics(Metrics metrics) {
    PrometheusRegistry registry = metrics.registry();
    waits =
        Histogram.builder()
            .name("kvasir_admission_wait_seconds")
            .help("How long requests waited that then went to a worker, by class. Those that did not wait are not"
                + " counted.")
            .labelNames("class")
            .classicUpperBounds(0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
            .classicOnly()
            .register(registry);
    refusals =
        Counter.builder()
            .name("kvasir_admission_refusals_total")
            .help("Requests that were not allowed to wait, or to wait longer, by class and reason.")
            .labelNames("class", "reason")
            .register(registry);
    gauge(registry, "kvasir_admission_waiting", "Requests that wait for a worker, by cell and class.",
        ClassStatus::length);
    gauge(registry, "kvasir_admission_waiting_bytes", "Memory of the requests that wait, by cell and class.",
        ClassStatus::bytes);
    gauge(registry, "kvasir_admission_waiting_tokens",
        "Tokens of the requests that wait and that workers will have to compute, estimated, by cell and class.",
        ClassStatus::tokens);
    gauge(registry, "kvasir_admission_oldest_seconds",
        "How long the request has waited that has waited longest, by cell and class.",
        status -> status.oldestMillis() / 1e3);
  }

  private void gauge(
      PrometheusRegistry registry, String name, String help,
      ToDoubleFunction<ClassStatus> value) {
    Consumer<GaugeWithCallback.Callback> callback =
        gauge ->
            rooms.forEach(
                (cell, room) ->
                    room.get()
                        .forEach(
                            status ->
                                gauge.call(value.applyAsDouble(status), cell, status.serviceClass().label())));
    GaugeWithCallback.builder().name(name).help(help).labelNames("cell", "class").callback(callback).register(registry);
  }

  /**
   * Shows a cell's room from now on.
   *
   * @param room has the state of its classes
   */
  public void watch(String cell, Supplier<List<ClassStatus>> room) {
    rooms.put(cell, room);
  }

  /** Shows that room no longer. */
  public void unwatch(String cell, Supplier<List<ClassStatus>> room) {
    rooms.remove(cell, room);
  }

  void waited(ServiceClass serviceClass, long nanos) {
    waits.labelValues(serviceClass.label()).observe(nanos / 1e9);
  }

  /** Counts a refusal. */
  public void refused(ServiceClass serviceClass, AdmissionRefusal refusal) {
    refusals.labelValues(serviceClass.label(), refusal.reason()).inc();
  }
}
