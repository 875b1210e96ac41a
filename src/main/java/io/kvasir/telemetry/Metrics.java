package io.kvasir.telemetry;

import io.prometheus.metrics.model.registry.PrometheusRegistry;

/** The process's metrics. One instance, wired by the app; thread-safe. */
public final class Metrics {
  private final PrometheusRegistry registry;

  /** Metrics in a registry of their own, so that tests do not meet. */
  public Metrics(PrometheusRegistry registry) {
    this.registry = registry;
  }

  /** What {@code /metrics} shows. */
  public PrometheusRegistry registry() {
    return registry;
  }
}
