package io.kvasir.gateway.traffic;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.execution.Report.TokenUsage;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.ManualClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

final class TenantTrafficTest {
  private final ManualClock clock = new ManualClock();
  private final TenantTraffic traffic = new TenantTraffic(clock);

  @Test
  void figures_areThoseOfTheTenant() {
    for (int second = 0; second < 20; second++) {
      traffic.of("a").begin();
      traffic.of("a").end(new TokenUsage(100, 60, 7, 0));
      clock.advance(Duration.ofSeconds(1));
    }
    traffic.of("a").begin();
    traffic.of("b").begin();
    traffic.of("b").endRefused(true);

    TenantTraffic.Figures a = figures("a");
    assertThat(a.requestsPerSecond()).isEqualTo(1);
    assertThat(a.inFlight()).isEqualTo(1);
    assertThat(a.totals().promptTokens()).isEqualTo(2000);
    assertThat(a.totals().cachedTokens()).isEqualTo(1200);
    assertThat(a.totals().outputTokens()).isEqualTo(140);
    assertThat(figures("b").totals().refused()).isEqualTo(1);
    assertThat(figures("b").inFlight()).isZero();
  }

  @Test
  void rate_isOfTheLastSeconds() {
    traffic.of("a").begin();
    clock.advance(Duration.ofSeconds(60));

    assertThat(figures("a").requestsPerSecond()).isZero();
  }

  @Test
  void metrics_haveTheFirstTenantsByName_andTheOthersTogether() {
    PrometheusRegistry registry = new PrometheusRegistry();
    TenantMetrics.register(traffic, new Metrics(registry));
    for (int i = 0; i < TenantTraffic.MOST + 500; i++) {
      TenantTraffic.Account account = traffic.of(i == 0 ? "" : "t" + i);
      account.begin();
      account.firstToken(500_000_000);
      account.end(new TokenUsage(100, 60, 7, 0));
    }

    Map<String, CounterSnapshot.CounterDataPointSnapshot> requests = new HashMap<>();
    Map<String, Double> tokens = new HashMap<>();
    for (MetricSnapshot metric : registry.scrape()) {
      if (metric instanceof CounterSnapshot counter) {
        counter.getDataPoints().forEach(point -> {
          if (metric.getMetadata().getName().equals("kvasir_tenant_requests")) {
            requests.put(point.getLabels().get("tenant"), point);
          } else if (metric.getMetadata().getName().equals("kvasir_tenant_tokens")) {
            tokens.put(point.getLabels().get("tenant") + " " + point.getLabels().get("kind"), point.getValue());
          }
        });
      }
      assertThat(metric.getDataPoints().size()).isLessThanOrEqualTo(3 * (TenantTraffic.LABELLED + 1));
    }
    assertThat(requests).hasSize(TenantTraffic.LABELLED + 1).containsKeys("(anonymous)", "t1", "(all others)");
    assertThat(requests.values().stream().mapToDouble(CounterSnapshot.CounterDataPointSnapshot::getValue).sum())
        .isEqualTo(TenantTraffic.MOST + 500);
    assertThat(tokens).containsEntry("t1 uncached", 40.0).containsEntry("t1 cached", 60.0)
        .containsEntry("t1 output", 7.0);
    assertThat(figures("t1").totals().firstTokenSeconds()).isEqualTo(0.5);
  }

  @Test
  void whatEnginesDoNotReport_isNotCounted() {
    traffic.of("a").begin();
    traffic.of("a").end(TokenUsage.UNKNOWN);

    assertThat(figures("a").totals().promptTokens()).isZero();
  }

  @Test
  void tenantsBeyondTheMost_areOne() {
    for (int i = 0; i < TenantTraffic.MOST + 500; i++) {
      traffic.of("t" + i).begin();
    }

    assertThat(traffic.figures()).hasSize(TenantTraffic.MOST + 1);
    assertThat(traffic.figures().stream().filter(each -> each.tenant() == null).findFirst().orElseThrow().inFlight())
        .isEqualTo(500);
  }

  private TenantTraffic.Figures figures(String tenant) {
    return traffic.figures().stream()
        .filter(each -> Objects.equals(each.tenant(), tenant))
        .findFirst()
        .orElseThrow();
  }
}
