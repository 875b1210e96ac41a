package io.kvasir.http.server;

import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Gauge;

/** The metrics of the HTTP server. */
final class HttpMetrics {
  private final Gauge connections;
  private final Counter refused;
  private final Counter reclaimed;
  private final Counter timedOut;

  HttpMetrics(Metrics metrics) {
    connections =
        Gauge.builder()
            .name("kvasir_http_connections")
            .help("Client connections open")
            .register(metrics.registry());
    refused =
        Counter.builder()
            .name("kvasir_http_connections_refused_total")
            .help("Client connections refused because too many were open")
            .register(metrics.registry());
    reclaimed =
        Counter.builder()
            .name("kvasir_http_connections_reclaimed_total")
            .help("Client connections without a request closed in favour of new ones because too many were open")
            .register(metrics.registry());
    timedOut =
        Counter.builder()
            .name("kvasir_http_timeouts_total")
            .help("Client connections closed by a timeout, by what was waited for")
            .labelNames("waiting_for")
            .register(metrics.registry());
  }

  void openConnections(int count) {
    connections.set(count);
  }

  void connectionRefused() {
    refused.inc();
  }

  void connectionReclaimed() {
    reclaimed.inc();
  }

  /** One of idle, head, body, write. */
  void timedOut(String waitingFor) {
    timedOut.labelValues(waitingFor).inc();
  }
}
