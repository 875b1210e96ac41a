package io.kvasir.prompt;

import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.Unit;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;

/** The Prometheus metrics of requests that wait to be prepared. */
final class PreparationMetrics {
  private static final double SECOND = TimeUnit.SECONDS.toNanos(1);

  private final PrometheusRegistry registry;
  private final Histogram seconds;
  private final Counter pauses;

  /** How a wait ended. */
  enum Result {
    /** The request had its turn. */
    PREPARED,
    /** It waited too long, or too many did. */
    REFUSED,
    /** Its client left. */
    CANCELLED
  }

  PreparationMetrics(PrometheusRegistry registry) {
    this.registry = registry;
    seconds = Histogram.builder()
        .name("kvasir_preparation_wait_seconds")
        .help("Time that large requests waited for a processor to prepare them, by how that ended; no wait, no count")
        .unit(Unit.SECONDS)
        .labelNames("result")
        .classicOnly()
        .classicExponentialUpperBounds(0.001, 4, 8)
        .register(registry);
    pauses = Counter.builder()
        .name("kvasir_preparation_pauses_total")
        .help("How often a large request paused while it was prepared, so that smaller ones went first")
        .register(registry);
  }

  void waiting(IntSupplier now) {
    GaugeWithCallback.builder()
        .name("kvasir_preparations_waiting")
        .help("Large requests that wait for a processor to prepare them")
        .callback(callback -> callback.call(now.getAsInt()))
        .register(registry);
  }

  void waited(Result result, long nanos) {
    seconds.labelValues(result.name().toLowerCase(Locale.ROOT)).observe(nanos / SECOND);
  }

  void gaveWay() {
    pauses.inc();
  }
}
