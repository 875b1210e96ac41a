package io.kvasir.telemetry;

import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import java.util.List;

/** What metrics say, as a scraper would see it. */
public final class TestMetrics {
  private TestMetrics() {}

  /**
   * The sum of a metric's series whose labels have these values; a histogram's count.
   *
   * @param name without the {@code _total} of counters
   */
  public static double sum(PrometheusRegistry registry, String name, String... values) {
    double sum = 0;
    for (MetricSnapshot snapshot : registry.scrape(name::equals)) {
      for (var point : snapshot.getDataPoints()) {
        List<String> has = point.getLabels().stream().map(label -> label.getValue()).toList();
        if (has.containsAll(List.of(values))) {
          sum += switch (point) {
            case CounterSnapshot.CounterDataPointSnapshot counter -> counter.getValue();
            case GaugeSnapshot.GaugeDataPointSnapshot gauge -> gauge.getValue();
            case HistogramSnapshot.HistogramDataPointSnapshot histogram -> (double) histogram.getCount();
            default -> throw new IllegalArgumentException(name);
          };
        }
      }
    }
    return sum;
  }
}
