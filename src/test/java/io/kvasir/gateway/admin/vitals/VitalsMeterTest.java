package io.kvasir.gateway.admin.vitals;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.telemetry.Metrics;
import io.kvasir.time.ManualClock;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Gauge;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class VitalsMeterTest {
  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final Counter requests =
      Counter.builder().name("kvasir_requests_total").help("h").labelNames("status").register(registry);
  private final Histogram ttft =
      Histogram.builder().name("kvasir_ttft_seconds").help("h").classicOnly()
          .classicExponentialUpperBounds(0.001, 2, 18).register(registry);
  private final ManualClock clock = new ManualClock();
  private final VitalsMeter meter = new VitalsMeter(new Metrics(registry), clock);

  @Test
  void samples_areOfTheirOwnTime_theLatestFirst() {
    for (int i = 1; i <= 3; i++) {
      requests.labelValues("2xx").inc(10L * i);
      ttft.observe(0.1 * i);
      clock.advance(VitalsMeter.STEP);
      meter.sample();
    }

    List<VitalSample> history = meter.history();

    assertThat(history).extracting(VitalSample::age).containsExactly(0.0, 5.0, 10.0);
    assertThat(history).extracting(sample -> sample.figures().of(VitalFigure.REQUESTS)).containsExactly(6.0, 4.0, 2.0);
    assertThat(history).extracting(sample -> sample.figures().ttft().quantile(0.5).getAsDouble() > 0.2)
        .containsExactly(true, false, false);
  }

  @Test
  void waiting_isThatOfPreparationsAndOfTheLine() {
    Gauge.builder().name("kvasir_preparations_waiting").help("h").register(registry).set(2);
    Gauge line =
        Gauge.builder().name("kvasir_admission_waiting").help("h").labelNames("cell", "class").register(registry);
    line.labelValues("c", "default").set(3);
    line.labelValues("c", "bulk").set(4);
    clock.advance(VitalsMeter.STEP);
    meter.sample();
    assertThat(meter.history().getFirst().figures().of(VitalFigure.WAITING)).isEqualTo(9);
  }

  @Test
  void figures_areInTheOrderOfTheirPlaces() {
    assertThat(VitalFigure.values()).extracting(VitalFigure::place)
        .containsExactlyElementsOf(IntStream.range(0, VitalFigure.values().length).boxed().toList());
  }

  @Test
  void history_isAQuarterOfAnHour_andSmall() {
    for (int i = 0; i < VitalsMeter.KEPT + 20; i++) {
      requests.labelValues("2xx").inc();
      for (int j = 0; j < 12; j++) {
        ttft.observe(0.01 * (1 << j));
      }
      clock.advance(VitalsMeter.STEP);
      meter.sample();
    }

    assertThat(meter.history()).hasSize(VitalsMeter.KEPT);
    assertThat(meter.history().getLast().age()).isEqualTo(5.0 * (VitalsMeter.KEPT - 1));
    int bytes =
        meter.history().stream().mapToInt(sample -> Float.BYTES * sample.figures().packed().length).sum();
    assertThat(bytes).isLessThan(40 << 10);
  }
}
