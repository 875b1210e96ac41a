package io.kvasir.routing;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Metrics of workers that other systems report: queue lengths, prices, temperatures. One instance per process, written
 * by the admin API and by other nodes' broadcasts, read by plugins. Holds at most {@value #MAX_METRICS} values.
 * Thread-safe; reading never waits.
 */
public final class ExternalMetrics {
  private static final int MAX_METRICS = 16_384;

  private final Map<MetricKey, ExternalMetric> metrics = new ConcurrentHashMap<>();

  private record MetricKey(String name, String worker) {}

  /** The latest value of one metric of one worker. */
  public static final class ExternalMetric {
    private volatile Sample sample = new Sample(Double.NaN, 0);

    private record Sample(double value, long nanos) {}

    /** The value when it was reported at most {@code maxAgeNanos} before {@code nowNanos}, else not a number. */
    public double value(long nowNanos, long maxAgeNanos) {
      Sample latest = sample;
      return nowNanos - latest.nanos <= maxAgeNanos ? latest.value : Double.NaN;
    }
  }

  /**
   * One metric's latest value.
   *
   * @param name the metric's name
   * @param worker the worker's id
   * @param value the value
   * @param ageNanos nanoseconds since it was reported
   */
  public record CurrentValue(String name, String worker, double value, long ageNanos) {}

  /**
   * Stores a reported value.
   *
   * @param name the metric's name
   * @param worker the worker's id
   * @param nanos time of the report, by the clock that decisions use
   * @return false when the limit is reached and the value was not stored
   */
  public boolean report(String name, String worker, double value, long nanos) {
    MetricKey key = new MetricKey(name, worker);
    if (!metrics.containsKey(key) && metrics.size() >= MAX_METRICS) {
      return false;
    }
    metric(key).sample = new ExternalMetric.Sample(value, nanos);
    return true;
  }

  /** The metric of a worker, created when it is new. The same object for ever, so that one look-up is enough. */
  public ExternalMetric metric(String name, String worker) {
    return metric(new MetricKey(name, worker));
  }

  private ExternalMetric metric(MetricKey key) {
    return metrics.computeIfAbsent(key, _ -> new ExternalMetric());
  }

  /** All values that have been reported, ordered by name and worker. */
  public List<CurrentValue> currentValues(long nowNanos) {
    Map<String, CurrentValue> values = new TreeMap<>();
    metrics.forEach((key, metric) -> {
      ExternalMetric.Sample sample = metric.sample;
      if (!Double.isNaN(sample.value)) {
        values.put(key.name + "\n" + key.worker,
            new CurrentValue(key.name, key.worker, sample.value, nowNanos - sample.nanos));
      }
    });
    return new ArrayList<>(values.values());
  }
}
