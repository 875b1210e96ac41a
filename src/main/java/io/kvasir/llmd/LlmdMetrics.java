package io.kvasir.llmd;

import io.prometheus.metrics.model.snapshots.ClassicHistogramBuckets;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.CounterSnapshot.CounterDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.DataPointSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot.HistogramDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricMetadata;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A node's metrics by the names that llm-d's picker has for them, so that dashboards of llm-d go on: made when metrics
 * are read, of what is read, so that requests pay nothing. What has no source in the node is left out.
 */
public final class LlmdMetrics {
  /** Counts requests whose usage is known, by model. */
  private static final String USAGES = "kvasir_predictions";

  private LlmdMetrics() {}

  /** The metrics that can be made of these. */
  public static List<MetricSnapshot> of(MetricSnapshots metrics) {
    Map<String, MetricSnapshot> sources = new HashMap<>();
    metrics.forEach(metric -> sources.put(metric.getMetadata().getPrometheusName(), metric));
    List<MetricSnapshot> made = new ArrayList<>();
    for (MetricAlias alias : MetricAlias.values()) {
      MetricSnapshot source = sources.get(alias.source());
      MetricSnapshot metric = source == null ? null : made(alias, source, sources.get(USAGES));
      if (metric != null) {
        made.add(metric);
      }
    }
    return made;
  }

  private static @Nullable MetricSnapshot made(
      MetricAlias alias, MetricSnapshot source, @Nullable MetricSnapshot usages) {
    Map<List<String>, List<DataPointSnapshot>> groups = groups(alias, source);
    List<String> labels = alias.labelNames();
    MetricMetadata name = new MetricMetadata(alias.metricName(), alias.help());
    return switch (alias.shape()) {
      case COUNT -> {
        List<CounterDataPointSnapshot> points = new ArrayList<>();
        groups.forEach(
            (values, series) ->
                points.add(new CounterDataPointSnapshot(sum(series), Labels.of(labels, values), null, 0)));
        yield new CounterSnapshot(name, points);
      }
      case GAUGE, MEAN, DEVIATION -> {
        List<GaugeDataPointSnapshot> points = new ArrayList<>();
        groups.forEach(
            (values, series) -> {
              double[] known = series.stream().mapToDouble(LlmdMetrics::value).filter(value -> value >= 0).toArray();
              if (known.length > 0) {
                points.add(new GaugeDataPointSnapshot(figure(alias.shape(), known), Labels.of(labels, values), null));
              }
            });
        yield new GaugeSnapshot(name, points);
      }
      case DISTRIBUTION -> {
        List<HistogramDataPointSnapshot> points = new ArrayList<>();
        groups.forEach((values, series) -> points.add(merged(series, Labels.of(labels, values))));
        yield new HistogramSnapshot(name, points);
      }
      case TOTALS -> usages == null ? null : totals(alias, name, groups, usages);
    };
  }

  /** A histogram whose only bucket has all requests with a usage, which is known by model. */
  private static MetricSnapshot totals(
      MetricAlias alias,
      MetricMetadata name,
      Map<List<String>, List<DataPointSnapshot>> groups,
      MetricSnapshot usages) {
    Map<List<String>, Long> requests = new HashMap<>();
    List<String> labels = alias.labelNames();
    List<String> written = alias.labelValues();
    for (DataPointSnapshot usage : usages.getDataPoints()) {
      boolean silent = "unreported".equals(usage.getLabels().get("result"));
      if (!(silent && alias == MetricAlias.REQUEST_CACHED_TOKENS)) {
        requests.merge(values(alias, written, usage.getLabels()), (long) value(usage), Long::sum);
      }
    }
    List<HistogramDataPointSnapshot> points = new ArrayList<>();
    groups.forEach(
        (values, series) ->
            points.add(
                new HistogramDataPointSnapshot(
                    ClassicHistogramBuckets.of(
                        new double[] {Double.POSITIVE_INFINITY}, new long[] {requests.getOrDefault(values, 0L)}),
                    sum(series), Labels.of(labels, values), null, 0)));
    return new HistogramSnapshot(name, points);
  }

  /** The series of a source by the labels they have under the other name. */
  private static Map<List<String>, List<DataPointSnapshot>> groups(MetricAlias alias, MetricSnapshot source) {
    Map<List<String>, List<DataPointSnapshot>> groups = new LinkedHashMap<>();
    List<String> written = alias.labelValues();
    for (DataPointSnapshot series : source.getDataPoints()) {
      if (alias.counts(series.getLabels())) {
        groups.computeIfAbsent(values(alias, written, series.getLabels()), _ -> new ArrayList<>(1)).add(series);
      }
    }
    return groups;
  }

  /** The values of labels for a series of the source; strings are shared, for there may be thousands of series. */
  private static List<String> values(MetricAlias alias, List<String> written, Labels series) {
    String[] values = new String[written.size()];
    for (int i = 0; i < values.length; i++) {
      String value = written.get(i);
      if (value.charAt(0) == '$') {
        String label = value.substring(1);
        value = alias.written(label, String.valueOf(series.get(label)));
      }
      values[i] = value;
    }
    return Arrays.asList(values);
  }

  private static double sum(List<DataPointSnapshot> series) {
    return series.stream().mapToDouble(LlmdMetrics::value).sum();
  }

  private static double value(DataPointSnapshot series) {
    return switch (series) {
      case CounterDataPointSnapshot counter -> counter.getValue();
      case GaugeDataPointSnapshot gauge -> gauge.getValue();
      default -> throw new IllegalStateException(series.getClass() + " has no value");
    };
  }

  private static double figure(MetricAlias.Shape shape, double[] known) {
    double mean = Arrays.stream(known).average().orElse(0);
    return switch (shape) {
      case MEAN -> mean;
      case DEVIATION -> Math.sqrt(Arrays.stream(known).map(value -> Math.pow(value - mean, 2)).average().orElse(0));
      case COUNT, GAUGE, DISTRIBUTION, TOTALS -> Arrays.stream(known).sum();
    };
  }

  /** The sum of histograms of one metric, whose bounds are the same. */
  private static HistogramDataPointSnapshot merged(List<DataPointSnapshot> series, Labels labels) {
    double[] bounds = {};
    long[] counts = {};
    double sum = 0;
    for (DataPointSnapshot point : series) {
      if (point instanceof HistogramDataPointSnapshot histogram) {
        ClassicHistogramBuckets buckets = histogram.getClassicBuckets();
        if (counts.length == 0) {
          bounds = new double[buckets.size()];
          counts = new long[buckets.size()];
        }
        for (int i = 0; i < counts.length; i++) {
          bounds[i] = buckets.getUpperBound(i);
          counts[i] += buckets.getCount(i);
        }
        sum += histogram.getSum();
      }
    }
    return new HistogramDataPointSnapshot(ClassicHistogramBuckets.of(bounds, counts), sum, labels, null, 0);
  }
}
