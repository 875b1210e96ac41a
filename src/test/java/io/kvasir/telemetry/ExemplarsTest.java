package io.kvasir.telemetry;

import static org.assertj.core.api.Assertions.assertThat;

import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.Labels;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** Metrics keep no exemplars, which cost every count and every observation, but those that are built for it. */
final class ExemplarsTest {
  @Test
  void metrics_keepNone() throws IOException {
    PrometheusRegistry registry = new PrometheusRegistry();
    Counter counter = Counter.builder().name("kvasir_things_total").help("Things").register(registry);
    Histogram histogram = Histogram.builder().name("kvasir_seconds").help("Seconds").register(registry);
    counter.incWithExemplar(1, Labels.of("trace_id", "abc"));
    histogram.observeWithExemplar(0.1, Labels.of("trace_id", "abc"));
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    new Metrics(registry).write("application/openmetrics-text", out);
    assertThat(out.toString(StandardCharsets.UTF_8)).contains("kvasir_things_total 1.0").doesNotContain("trace_id");
  }
}
