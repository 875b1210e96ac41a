package io.kvasir.telemetry;

import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.snapshots.ClassicHistogramBuckets;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.CounterSnapshot.CounterDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.DataPointSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot.HistogramDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;

/**
 * The latest growth of some of a registry's metrics: rates and quantiles of the last seconds, without a time series
 * database. Samples are taken when figures are asked for and whenever else the owner likes; few are kept. Thread-safe.
 */
public final class MetricWindow {
  /** Any series. */
  public static final Predicate<Labels> ALL = _ -> true;

  /** Samples nearer together than this are one: whoever asks often gets figures, but makes no memory. */
  private static final long MIN_DISTANCE = Duration.ofMillis(900).toNanos();

  private final Metrics metrics;
  private final Set<String> names;
  private final long span;
  private final NanoClock clock;

  /** The oldest first, which is the latest that is as old as the window, if one is. Guarded by this. */
  private final Deque<Sample> samples = new ArrayDeque<>();

  private record Sample(long nanos, Map<String, MetricSnapshot> metrics) {
    List<? extends DataPointSnapshot> series(String name) {
      MetricSnapshot metric = metrics.get(name);
      return metric == null ? List.of() : metric.getDataPoints();
    }
  }

  /**
   * A window that begins now.
   *
   * @param names the metrics' names without their {@code _total}
   * @param span how much time figures are of; of up to as much more where samples are as far apart
   */
  public MetricWindow(Metrics metrics, Set<String> names, Duration span, NanoClock clock) {
    this.metrics = metrics;
    this.names = Set.copyOf(names);
    this.span = span.toNanos();
    this.clock = clock;
    sample();
  }

  /** Reads the metrics as they are. Called about as often as the window is long, its figures are of the last such. */
  public void sample() {
    keep(read());
  }

  /** The figures up to now. */
  public Figures figures() {
    Sample now = read();
    return new Figures(keep(now), now);
  }

  private Sample read() {
    Map<String, MetricSnapshot> read = new HashMap<>();
    metrics.registry().scrape(names::contains).forEach(metric -> read.put(metric.getMetadata().getName(), metric));
    return new Sample(clock.nanos(), read);
  }

  /** Keeps a sample; returns the one to compare it with. */
  private synchronized Sample keep(Sample now) {
    if (samples.isEmpty() || now.nanos() - samples.getLast().nanos() >= MIN_DISTANCE) {
      samples.addLast(now);
    }
    Sample base = samples.removeFirst();
    while (!samples.isEmpty() && now.nanos() - samples.getFirst().nanos() >= span) {
      base = samples.removeFirst();
    }
    samples.addFirst(base);
    return base;
  }

  /** What the metrics have grown by in the window. Immutable. */
  public static final class Figures {
    private final Sample base;
    private final Sample now;

    private Figures(Sample base, Sample now) {
      this.base = base;
      this.now = now;
    }

    /** The window's length, seconds; 0 in the first moment. */
    public double seconds() {
      return (now.nanos() - base.nanos()) / 1e9;
    }

    /** The sum of a gauge's series now. */
    public double gauge(String name, Predicate<Labels> series) {
      return sum(now, name, series);
    }

    /** The sum of a counter's series since the registry began. */
    public double total(String name, Predicate<Labels> series) {
      return sum(now, name, series);
    }

    /** How much a counter's series have grown. */
    public double increase(String name, Predicate<Labels> series) {
      return Math.max(0, sum(now, name, series) - sum(base, name, series));
    }

    /** The same a second; 0 in the first moment. */
    public double rate(String name, Predicate<Labels> series) {
      return seconds() > 0 ? increase(name, series) / seconds() : 0;
    }

    /** What a histogram's series observed in the window. */
    public BucketCounts buckets(String name, Predicate<Labels> series) {
      return new BucketCounts(bounds(name), difference(counts(now, name, series), counts(base, name, series)));
    }

    /**
     * A quantile of what a histogram's series observed in the window, interpolated within its bucket.
     *
     * @param rank 0 to 1
     * @return empty when nothing was observed
     */
    public OptionalDouble quantile(String name, double rank, Predicate<Labels> series) {
      return buckets(name, series).quantile(rank);
    }

    /** The same of all that was observed since the registry began. */
    public OptionalDouble totalQuantile(String name, double rank, Predicate<Labels> series) {
      return new BucketCounts(bounds(name), counts(now, name, series)).quantile(rank);
    }

    private List<Double> bounds(String name) {
      List<? extends DataPointSnapshot> series = now.series(name);
      if (series.isEmpty()) {
        return List.of();
      }
      ClassicHistogramBuckets buckets = ((HistogramDataPointSnapshot) series.getFirst()).getClassicBuckets();
      return IntStream.range(0, buckets.size()).mapToObj(buckets::getUpperBound).toList();
    }

    private static double sum(Sample sample, String name, Predicate<Labels> series) {
      return switch (sample.metrics().get(name)) {
        case CounterSnapshot counter -> sum(counter.getDataPoints(), series, CounterDataPointSnapshot::getValue);
        case GaugeSnapshot gauge -> sum(gauge.getDataPoints(), series, GaugeDataPointSnapshot::getValue);
        case HistogramSnapshot histogram ->
            sum(histogram.getDataPoints(), series, HistogramDataPointSnapshot::getCount);
        case null, default -> 0;
      };
    }

    private static <P extends DataPointSnapshot> double sum(
        List<P> points, Predicate<Labels> series, ToDoubleFunction<P> value) {
      return points.stream().filter(point -> series.test(point.getLabels())).mapToDouble(value).sum();
    }

    private List<Double> counts(Sample sample, String name, Predicate<Labels> series) {
      double[] counts = new double[bounds(name).size()];
      for (DataPointSnapshot point : sample.series(name)) {
        if (series.test(point.getLabels())) {
          ClassicHistogramBuckets buckets = ((HistogramDataPointSnapshot) point).getClassicBuckets();
          for (int i = 0; i < counts.length; i++) {
            counts[i] += buckets.getCount(i);
          }
        }
      }
      return Arrays.stream(counts).boxed().toList();
    }

    private static List<Double> difference(List<Double> now, List<Double> before) {
      return IntStream.range(0, now.size()).mapToObj(i -> Math.max(0, now.get(i) - before.get(i))).toList();
    }
  }
}
