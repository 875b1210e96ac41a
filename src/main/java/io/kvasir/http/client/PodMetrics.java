package io.kvasir.http.client;

import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.Counter;

/** What the pod client counts. */
final class PodMetrics {
  private final Counter opened;
  private final Counter resent;

  PodMetrics(Metrics metrics) {
    opened =
        Counter.builder()
            .name("kvasir_pod_connections_opened_total")
            .help("Connections opened to pods")
            .register(metrics.registry());
    resent =
        Counter.builder()
            .name("kvasir_pod_requests_resent_total")
            .help("Requests sent again because the pod closed the reused connection before it could carry them out")
            .register(metrics.registry());
  }

  void connectionOpened() {
    opened.inc();
  }

  void requestResent() {
    resent.inc();
  }
}
