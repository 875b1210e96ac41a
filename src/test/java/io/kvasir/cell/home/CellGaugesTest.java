package io.kvasir.cell.home;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.PodSource;
import io.kvasir.cell.TestPods;
import io.kvasir.cell.directory.PodEntry;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The gauges of a cell, as a scrape finds them. */
final class CellGaugesTest {
  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final CellServices services = TestServices.deciding("expected-cost").metrics(new Metrics(registry)).build();
  private final Members members = new Members("m", services);

  @Test
  void scrape_hasEveryWorkerOnceInEachGauge() {
    members.admit(new PodEntry(TestPods.pod("a").build(), PodSource.CONFIG));
    members.admit(new PodEntry(TestPods.pod("b").ranks(2).build(), PodSource.CONFIG));

    for (String gauge : List.of(
        "in_flight", "pending_tokens", "blocks", "predicted_blocks", "trust", "healthy", "wedged", "engine_waiting",
        "engine_running", "engine_kv_use", "suspect")) {
      assertThat(points("kvasir_worker_" + gauge)).as(gauge)
          .allMatch(point -> point.getLabels().get("cell").equals("m"))
          .extracting(point -> point.getLabels().get("worker"))
          .containsExactlyInAnyOrder("a", "b#0", "b#1");
    }
    assertThat(points("kvasir_worker_trust")).allMatch(point -> point.getValue() == 1);
    assertThat(points("kvasir_worker_engine_waiting")).allMatch(point -> point.getValue() == -1);
    assertThat(points("kvasir_cell_pressure")).hasSize(1);
    assertThat(points("kvasir_index_slots")).singleElement().matches(point -> point.getValue() == 64);
  }

  @Test
  void scrape_afterTheCellHasLeft_hasNothingOfIt() {
    members.admit(new PodEntry(TestPods.pod("a").build(), PodSource.CONFIG));
    services.metrics().unwatch("m");

    assertThat(points("kvasir_worker_in_flight")).isEmpty();
    assertThat(points("kvasir_index_bytes")).isEmpty();
  }

  private List<GaugeDataPointSnapshot> points(String name) {
    return registry.scrape(name::equals).stream()
        .flatMap(snapshot -> ((GaugeSnapshot) snapshot).getDataPoints().stream())
        .toList();
  }
}
