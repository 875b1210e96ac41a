package io.kvasir.tracing;

import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import java.util.List;
import java.util.function.IntSupplier;

/** Metrics of the export of spans. Thread-safe. */
final class TracingMetrics {
  private final Counter spans;

  /**
   * Registers the metrics.
   *
   * @param queued spans that wait
   */
  TracingMetrics(Metrics metrics, IntSupplier queued) {
    spans = Counter.builder()
        .name("kvasir_trace_spans_total")
        .help("Spans by what became of them: exported, rejected by the collector, failed because it could not be"
            + " reached or refused them all, or dropped because the queue was full")
        .labelNames("result")
        .register(metrics.registry());
    List.of("exported", "rejected", "failed", "dropped").forEach(result -> spans.initLabelValues(result));
    GaugeWithCallback.builder()
        .name("kvasir_trace_spans_queued")
        .help("Spans that wait to be exported")
        .callback(callback -> callback.call(queued.getAsInt()))
        .register(metrics.registry());
  }

  void exported(long count) {
    spans.labelValues("exported").inc(count);
  }

  void rejected(long count) {
    spans.labelValues("rejected").inc(count);
  }

  void failed(long count) {
    spans.labelValues("failed").inc(count);
  }

  void dropped(long count) {
    spans.labelValues("dropped").inc(count);
  }
}
