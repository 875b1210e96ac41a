package io.kvasir.gateway.admin;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.gateway.admin.vitals.VitalFigure;
import io.kvasir.telemetry.MetricWindow;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.time.Duration;
import org.junit.jupiter.api.Test;

final class ProfileFiguresTest {
  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final Counter requests = counter("kvasir_requests_total", "profile", "status");
  private final Counter prompt = counter("kvasir_usage_prompt_tokens_total", "profile", "cache_report");
  private final Counter cached = counter("kvasir_cached_tokens_total", "profile", "kind");
  private final Counter regret = counter("kvasir_regret_tokens_total", "profile", "role");
  private final ProfileFigures figures =
      new ProfileFigures(
          new MetricWindow(new Metrics(registry), VitalFigure.METRICS, Duration.ofSeconds(10), NanoClock.SYSTEM));

  @Test
  void figures_areTheProfilesOwn() {
    requests.labelValues("a", "2xx").inc(7);
    requests.labelValues("b", "2xx").inc(100);
    prompt.labelValues("a", "true").inc(1000);
    prompt.labelValues("a", "false").inc(500);
    cached.labelValues("a", "actual").inc(600);
    cached.labelValues("a", "predicted").inc(800);
    regret.labelValues("a", "both").inc(50);

    assertThat(ProfileFigures.of(figures.now(), "a").toString()).isEqualTo(
        "{\"requests\":7,\"hit_rate\":0.6,\"ttft_ms\":{\"p50\":null,\"p90\":null},\"regret\":0.25}");
  }

  @Test
  void profileWithoutRequests_hasNoShares() {
    assertThat(ProfileFigures.of(figures.now(), "a").toString()).isEqualTo(
        "{\"requests\":0,\"hit_rate\":null,\"ttft_ms\":{\"p50\":null,\"p90\":null},\"regret\":null}");
  }

  private Counter counter(String name, String... labels) {
    return Counter.builder().name(name).help("h").labelNames(labels).register(registry);
  }
}
