package io.kvasir.cell.view;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.CellSettings;
import io.kvasir.cell.TestPods;
import io.kvasir.cell.TestSettings;
import io.kvasir.cell.home.TestCell;
import io.kvasir.index.BlockIndex;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A scrape of a cell whose index is being widened. */
final class CellGaugesResizeTest {
  private static final int NARROW = 64;
  private static final long BUDGET = 1 << 26;

  /** It reads the workers last, which are of the wide index by then. */
  @Test
  void scrape_duringWhichTheIndexWasWidened_hasAllWorkers() {
    CellSettings wide = TestSettings.with(new CellSettings.IndexSettings(2 * NARROW, 4 * NARROW, BUDGET));
    TestCell cell =
        new TestCell(wide, "prefix-aware", () -> 1, List.of(TestPods.pod("a").ranks(NARROW + 1).build()));
    CellGauges gauges = new CellGauges();
    gauges.watch("m", new BlockIndex(NARROW, BUDGET), cell.view());

    assertThat(gauges.collect().stream())
        .filteredOn(metric -> metric.getMetadata().getName().equals("kvasir_worker_eviction_loss"))
        .singleElement()
        .satisfies(metric -> assertThat(((GaugeSnapshot) metric).getDataPoints())
            .hasSize(NARROW + 1)
            .allMatch(point -> point.getValue() == 0));
  }
}
