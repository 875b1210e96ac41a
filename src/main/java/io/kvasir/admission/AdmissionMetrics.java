package io.kvasir.admission;

import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;

/** What operators see of waiting rooms. One per node; thread-safe. */
public final class AdmissionMetrics {
  private final Histogram waits;
  private final Counter refusals;
  private final Counter holds;
  private final Counter preemptions;
  private final Map<String, Supplier<List<ClassStatus>>> rooms = new ConcurrentHashMap<>();

  /** Registers the metrics. */
  public AdmissionMetrics(Metrics metrics) {
    PrometheusRegistry registry = metrics.registry();
    waits =
        Histogram.builder()
            .name("kvasir_admission_wait_seconds")
            .help("How long requests waited that then went to a worker, by class; one that was taken back from a worker"
                + " before since it came. Those that did not wait are not counted.")
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
    holds =
        Counter.builder()
            .name("kvasir_admission_holds_total")
            .help("Requests that were held back when it was their turn, by class and what they then waited for: a"
                + " worker with less work queued (busy), a place at one (full), one, or room in its queue, beyond"
                + " what is kept for others (kept), room for their programs (program), a worker that can be reached"
                + " (worker). Counted once until they wait for something else.")
            .labelNames("class", "reason")
            .register(registry);
    preemptions =
        Counter.builder()
            .name("kvasir_admission_preemptions_total")
            .help("Requests that were to be taken back from their workers for more urgent ones, by class and result:"
                + " whether they were (preempted), or their answers had begun or were over (too_late).")
            .labelNames("class", "result")
            .register(registry);
    gaugeOfReasons(registry);
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
    GaugeWithCallback.builder()
        .name(name)
        .help(help)
        .labelNames("cell", "class")
        .callback(
            gauge ->
                forEachStatus(
                    (cell, status) ->
                        gauge.call(value.applyAsDouble(status), cell, status.serviceClass().label())))
        .register(registry);
  }

  private void gaugeOfReasons(PrometheusRegistry registry) {
    GaugeWithCallback.builder()
        .name("kvasir_admission_held")
        .help("Requests that wait, by cell, class and what they wait for: those of kvasir_admission_holds_total, or"
            + " their turn (turn).")
        .labelNames("cell", "class", "reason")
        .callback(
            gauge ->
                forEachStatus(
                    (cell, status) ->
                        status.reasons().forEach(
                            (reason, count) ->
                                gauge.call(count, cell, status.serviceClass().label(), reason))))
        .register(registry);
  }

  /** Shows the classes of each room, with the cell's name. */
  private void forEachStatus(BiConsumer<String, ClassStatus> consumer) {
    rooms.forEach((cell, room) -> room.get().forEach(status -> consumer.accept(cell, status)));
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

  void held(ServiceClass serviceClass, HoldReason reason) {
    holds.labelValues(serviceClass.label(), reason.label()).inc();
  }

  /**
   * A request is over that was to be taken back from its worker.
   *
   * @param done whether it was
   */
  public void preempted(ServiceClass serviceClass, boolean done) {
    preemptions.labelValues(serviceClass.label(), done ? "preempted" : "too_late").inc();
  }

  /** Counts a refusal. */
  public void refused(ServiceClass serviceClass, AdmissionRefusal refusal) {
    refusals.labelValues(serviceClass.label(), refusal.reason().label()).inc();
  }
}
