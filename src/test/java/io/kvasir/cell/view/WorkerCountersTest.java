package io.kvasir.cell.view;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Counters of fleets that have ever new workers. */
final class WorkerCountersTest {
  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final WorkerCounters counters = new WorkerCounters(new Metrics(registry));

  @Test
  void whatIsGoneIsDroppedAtTheSecondLook_andWhatComesBackIsKept() {
    counters.reported("stays", true);
    counters.reported("goes", true);
    counters.reported("comes-back", true);

    counters.removeStale(Set.of("stays"), Set.of("stays"));
    assertThat(pods()).containsExactlyInAnyOrder("stays", "goes", "comes-back");

    counters.removeStale(Set.of("stays"), Set.of("stays", "comes-back"));
    assertThat(pods()).containsExactlyInAnyOrder("stays", "comes-back");

    // The count of being gone begins anew.
    counters.removeStale(Set.of("stays"), Set.of("stays"));
    assertThat(pods()).containsExactlyInAnyOrder("stays", "comes-back");
  }

  private List<String> pods() {
    return registry.scrape("kvasir_engine_reports"::equals).stream()
        .map(CounterSnapshot.class::cast)
        .flatMap(reports -> reports.getDataPoints().stream())
        .map(point -> point.getLabels().get("pod"))
        .toList();
  }
}
