package io.kvasir.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.TestMetrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.List;
import org.junit.jupiter.api.Test;

final class EventMetricsTest {
  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final EventMetrics.SourceMetrics metrics = new EventMetrics(new Metrics(registry)).of("push");

  /** Engines behind brokers need not number their messages: they are heard of all the same. */
  @Test
  void messagesWithoutNumbers_count_andWhatTheStreamSaysItselfDoesNot() {
    metrics.delivered(new KvBatch(7, 0, 0, List.of()));
    metrics.delivered(new KvBatch(KvBatch.UNSEQUENCED, 0, 0, List.of(new KvEvent.Cleared(), new KvEvent.Cleared())));
    metrics.delivered(KvBatch.ofStream(new KvEvent.Connected()));
    metrics.delivered(KvBatch.ofStream(new KvEvent.Gap(3)));

    assertThat(TestMetrics.sum(registry, "kvasir_events_messages", "push")).isEqualTo(2);
    assertThat(TestMetrics.sum(registry, "kvasir_events", "push", "cleared")).isEqualTo(2);
    assertThat(TestMetrics.sum(registry, "kvasir_events_gaps", "push")).isEqualTo(1);
  }

  @Test
  void faults_haveTheirSeriesBeforeTheFirst() {
    assertThat(registry.scrape("kvasir_events_decode_faults"::equals).stream()
        .flatMap(family -> family.getDataPoints().stream()))
        .hasSameSizeAs(DecodeFault.values());
  }
}
