package io.kvasir.telemetry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.kvasir.time.ManualClock;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Gauge;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.time.Duration;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class MetricWindowTest {
  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final Counter requests =
      Counter.builder().name("requests_total").help("h").labelNames("status").register(registry);
  private final Gauge open = Gauge.builder().name("open").help("h").labelNames("api").register(registry);
  private final Histogram seconds =
      Histogram.builder().name("seconds").help("h").classicOnly().classicUpperBounds(1, 2, 4).register(registry);
  private final ManualClock clock = new ManualClock();
  private final MetricWindow window =
      new MetricWindow(
          new Metrics(registry), Set.of("requests", "open", "seconds"), Duration.ofSeconds(10), clock);

  @Test
  void rates_areOfTheLastSeconds_notOfAllTime() {
    requests.labelValues("ok").inc(1000);
    for (int second = 0; second < 30; second++) {
      clock.advance(Duration.ofSeconds(1));
      requests.labelValues("ok").inc(2);
      requests.labelValues("bad").inc();
      window.sample();
    }

    MetricWindow.Figures figures = window.figures();
    assertThat(figures.seconds()).isEqualTo(10);
    assertThat(figures.rate("requests", MetricWindow.ALL)).isEqualTo(3);
    assertThat(figures.rate("requests", labels -> "bad".equals(labels.get("status")))).isEqualTo(1);
    assertThat(figures.total("requests", labels -> "ok".equals(labels.get("status")))).isEqualTo(1060);
  }

  @Test
  void sampledSeldom_theWindowIsLonger_butNoTimeIsLost() {
    clock.advance(Duration.ofSeconds(10));
    window.sample();
    clock.advance(Duration.ofSeconds(9));
    requests.labelValues("ok").inc(38);

    assertThat(window.figures().seconds()).isEqualTo(19);
    assertThat(window.figures().rate("requests", MetricWindow.ALL)).isEqualTo(2);
    clock.advance(Duration.ofSeconds(1));
    assertThat(window.figures().seconds()).isEqualTo(10);
  }

  @Test
  void askedOften_theWindowStaysAsLong() {
    for (int i = 0; i < 2000; i++) {
      clock.advance(Duration.ofMillis(10));
      requests.labelValues("ok").inc();
      window.figures();
    }

    assertThat(window.figures().seconds()).isBetween(10.0, 11.0);
    assertThat(window.figures().rate("requests", MetricWindow.ALL)).isEqualTo(100, within(0.1));
  }

  @Test
  void quantiles_areInterpolatedWithinTheirBucket() {
    seconds.observe(100);
    clock.advance(Duration.ofSeconds(20));
    window.sample();
    clock.advance(Duration.ofSeconds(12));
    for (int i = 0; i < 10; i++) {
      seconds.observe(1.5);
    }

    MetricWindow.Figures figures = window.figures();
    assertThat(figures.quantile("seconds", 0.5, MetricWindow.ALL)).hasValue(1.5);
    assertThat(figures.quantile("seconds", 0.9, MetricWindow.ALL)).hasValue(1.9);
    assertThat(figures.totalQuantile("seconds", 1, MetricWindow.ALL)).hasValue(4);
  }

  @Test
  void whatIsNotThere_isNothing() {
    open.labelValues("chat").set(3);

    MetricWindow.Figures figures = window.figures();
    assertThat(figures.gauge("open", MetricWindow.ALL)).isEqualTo(3);
    assertThat(figures.rate("requests", MetricWindow.ALL)).isZero();
    assertThat(figures.rate("unknown", MetricWindow.ALL)).isZero();
    assertThat(figures.quantile("seconds", 0.5, MetricWindow.ALL)).isEmpty();
    assertThat(figures.quantile("unknown", 0.5, MetricWindow.ALL)).isEmpty();
  }
}
