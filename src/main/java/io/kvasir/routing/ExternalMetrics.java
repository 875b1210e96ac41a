package io.kvasir.routing;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Metrics of workers that other systems report: queue lengths, prices, temperatures. One instance per process, written
 * by the admin API and by other nodes' broadcasts, read by plugins. Holds at most {@value #MAX_METRICS} values; for
 * more, those that are too old for any decision are dropped: of workers that have left, as the next ones have other
 * names. Thread-safe; reading never waits.
 */
public final class ExternalMetrics {
  /** The age beyond which no decision uses a value. */
  public static final Duration MOST_AGE = Duration.ofDays(1);

  private static final int MAX_METRICS = 16_384;
  private static final long MOST_AGE_NANOS = MOST_AGE.toNanos();

  private final Map<MetricKey, Reported> metrics;

  /** How many metrics have been added; written by one thread at a time. */
  private volatile long additions;

  /** No value was reported before. Guarded by this; of no meaning while there is none. */
  private long oldestNanos;

  /** Nothing is reported yet. */
  public ExternalMetrics() {
    this(new ConcurrentHashMap<>());
  }

  /** Keeps what is reported in a map. */
  ExternalMetrics(ConcurrentHashMap<MetricKey, Reported> metrics) {
    this.metrics = metrics;
  }

  /** What a value is of. */
  record MetricKey(String name, String worker) {}

  private record Sample(double value, long nanos) {}

  /** What is reported of one metric of one worker, until it is dropped. */
  static final class Reported {
    /** Null once it is dropped. */
    private volatile @Nullable Sample latest;

    private Reported(Sample first) {
      this.latest = first;
    }
  }

  /**
   * A look-up.
   *
   * @param found null where the metric was not reported
   * @param additions how many metrics had been added before
   */
  private record LookUp(@Nullable Reported found, long additions) {
    static final LookUp NONE = new LookUp(null, -1);

    @Nullable Sample latest() {
      return found == null ? null : found.latest;
    }
  }

  /** One metric of one worker, whether it is reported yet or not. Thread-safe. */
  public final class ExternalMetric {
    private final MetricKey key;
    private volatile LookUp last = LookUp.NONE;

    private ExternalMetric(MetricKey key) {
      this.key = key;
    }

    /** The value when it was reported at most {@code maxAgeNanos} before {@code nowNanos}, else not a number. */
    public double value(long nowNanos, long maxAgeNanos) {
      Sample latest = latest();
      return latest != null && nowNanos - latest.nanos <= maxAgeNanos ? latest.value : Double.NaN;
    }

    /** Looks it up only when it may have been added since: many are read for each decision. */
    private @Nullable Sample latest() {
      Sample latest = last.latest();
      if (latest == null) {
        // Before the look-up: what is added meanwhile shows at the next one.
        long now = additions;
        if (last.additions != now) {
          last = new LookUp(metrics.get(key), now);
          latest = last.latest();
        }
      }
      return latest;
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
  public synchronized boolean report(String name, String worker, double value, long nanos) {
    MetricKey key = new MetricKey(name, worker);
    Sample sample = new Sample(value, nanos);
    Reported known = metrics.get(key);
    if (known != null) {
      known.latest = sample;
      return true;
    }
    if (metrics.isEmpty()) {
      oldestNanos = nanos;
    }
    if (metrics.size() >= MAX_METRICS && !dropOld(nanos)) {
      return false;
    }
    metrics.put(key, new Reported(sample));
    additions++;
    return true;
  }

  /** Drops what is too old for any decision, and returns whether there was any. */
  private boolean dropOld(long nowNanos) {
    if (nowNanos - oldestNanos <= MOST_AGE_NANOS) {
      return false;
    }
    int before = metrics.size();
    long oldestAge = 0;
    for (Iterator<Reported> all = metrics.values().iterator(); all.hasNext(); ) {
      Reported each = all.next();
      Sample latest = each.latest;
      long age = latest == null ? Long.MAX_VALUE : nowNanos - latest.nanos;
      if (age > MOST_AGE_NANOS) {
        each.latest = null;
        all.remove();
      } else {
        oldestAge = Math.max(oldestAge, age);
      }
    }
    oldestNanos = nowNanos - oldestAge;
    return metrics.size() < before;
  }

  /** The metric of a worker, to be kept: also for what is reported later. */
  public ExternalMetric metric(String name, String worker) {
    return new ExternalMetric(new MetricKey(name, worker));
  }

  /** All values that a decision may use, ordered by name and worker. */
  public List<CurrentValue> currentValues(long nowNanos) {
    Map<String, CurrentValue> values = new TreeMap<>();
    metrics.forEach((key, metric) -> {
      Sample latest = metric.latest;
      if (latest != null && nowNanos - latest.nanos <= MOST_AGE_NANOS) {
        values.put(key.name + "\n" + key.worker,
            new CurrentValue(key.name, key.worker, latest.value, nowNanos - latest.nanos));
      }
    });
    return new ArrayList<>(values.values());
  }
}
