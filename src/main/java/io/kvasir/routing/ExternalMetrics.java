package io.kvasir.routing;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Numbers that somebody outside says of workers: queue lengths of another system, prices, temperatures. One per
 * process, fed by whoever hears of them and read by plugins. At most {@value #MOST} are kept. Thread-safe; reading
 * never waits.
 */
public final class ExternalMetrics {
  private static final int MOST = 16_384;

  private final Map<MetricKey, ExternalMetric> metrics = new ConcurrentHashMap<>();

  private record MetricKey(String name, String worker) {}

  /** What was said last of one worker. A figure that is asked for before anybody said something is waited for. */
  public static final class ExternalMetric {
    private volatile Sample sample = new Sample(Double.NaN, 0);

    private record Sample(double value, long nanos) {}

    /** What was said at most {@code mostNanos} before {@code nowNanos}; not a number when nothing was. */
    public double value(long nowNanos, long mostNanos) {
      Sample now = sample;
      return nowNanos - now.nanos <= mostNanos ? now.value : Double.NaN;
    }
  }

  /**
   * One of the figures that are known.
   *
   * @param name what it is
   * @param worker of whom
   * @param value how much
   * @param ageNanos how long ago it was said
   */
  public record CurrentValue(String name, String worker, double value, long ageNanos) {}

  /**
   * Somebody says a figure.
   *
   * @param worker a worker's id
   * @param nanos when, by the clock that decisions go by
   * @return false when there are too many already
   */
  public boolean report(String name, String worker, double value, long nanos) {
    MetricKey key = new MetricKey(name, worker);
    if (!metrics.containsKey(key) && metrics.size() >= MOST) {
      return false;
    }
    metric(key).sample = new ExternalMetric.Sample(value, nanos);
    return true;
  }

  /** Where a worker's figure is said: the same object for ever, so that it need be looked up once. */
  public ExternalMetric metric(String name, String worker) {
    return metric(new MetricKey(name, worker));
  }

  private ExternalMetric metric(MetricKey key) {
    return metrics.computeIfAbsent(key, _ -> new ExternalMetric());
  }

  /** Those that have been said, by name and worker. */
  public List<CurrentValue> currentValues(long nowNanos) {
    Map<String, CurrentValue> known = new TreeMap<>();
    metrics.forEach((key, figure) -> {
      ExternalMetric.Sample said = figure.sample;
      if (!Double.isNaN(said.value)) {
        known.put(key.name + "\n" + key.worker,
            new CurrentValue(key.name, key.worker, said.value, nowNanos - said.nanos));
      }
    });
    return new ArrayList<>(known.values());
  }
}
