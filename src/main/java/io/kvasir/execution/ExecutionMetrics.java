package io.kvasir.execution;

import io.kvasir.cell.Outcome;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Gauge;

/** What operators see of tries. Thread-safe. */
final class ExecutionMetrics {
  private final Counter retries;
  private final Counter attempts;
  private final Gauge inFlight;

  ExecutionMetrics(Metrics metrics) {
    retries = Counter.builder()
        .name("kvasir_retries_total")
        .help("Requests sent to a further worker, by why the one before did not answer")
        .labelNames("why")
        .register(metrics.registry());
    attempts = Counter.builder()
        .name("kvasir_attempts_total")
        .help("Requests sent to a worker, by how it went")
        .labelNames("outcome")
        .register(metrics.registry());
    inFlight = Gauge.builder()
        .name("kvasir_attempts_in_flight")
        .help("Requests at workers now")
        .register(metrics.registry());
  }

  void begun() {
    inFlight.inc();
  }

  void ended(Outcome outcome) {
    inFlight.dec();
    attempts.labelValues(switch (outcome) {
      case Outcome.Completed _ -> "completed";
      case Outcome.Cancelled _ -> "cancelled";
      case Outcome.Refused _ -> "refused";
      case Outcome.Failed _ -> "failed";
    }).inc();
  }

  void retried(String why) {
    retries.labelValues(why).inc();
  }
}
