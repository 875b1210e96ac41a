package io.kvasir.gateway.admin.vitals;

import io.kvasir.telemetry.MetricWindow;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/**
 * A node's own vital figures: those of the last seconds, and a sample of every five seconds of the last quarter of an
 * hour, some 30 kB in all. Thread-safe.
 */
public final class VitalsMeter {
  /** How often a {@link #sample} has to be taken. */
  public static final Duration STEP = Duration.ofSeconds(5);

  /** Samples that are kept: a quarter of an hour. */
  static final int KEPT = 180;

  /** How much time the figures of now are of. */
  private static final Duration WINDOW = Duration.ofSeconds(10);

  private final NanoClock clock;
  private final MetricWindow window;
  private final MetricWindow step;

  /** The latest first. Guarded by this. */
  private final Deque<Sample> samples = new ArrayDeque<>();

  private record Sample(long nanos, float[] packed) {
    private VitalSample at(long now) {
      return new VitalSample((now - nanos) / 1e9, VitalFigures.unpacked(packed));
    }
  }

  /**
   * A node's figures of a time.
   *
   * @param seconds how long it was
   */
  public record Measured(double seconds, VitalFigures figures) {}

  /** Of the metrics of a node, from now on. */
  public VitalsMeter(Metrics metrics, NanoClock clock) {
    this.clock = clock;
    this.window = new MetricWindow(metrics, VitalFigure.METRICS, WINDOW, clock);
    this.step = new MetricWindow(metrics, VitalFigure.METRICS, STEP, clock);
  }

  /** The window of the last seconds, for other figures of the same metrics. */
  public MetricWindow window() {
    return window;
  }

  /** The figures of the last seconds. */
  public Measured now() {
    MetricWindow.Figures figures = window.figures();
    return new Measured(figures.seconds(), VitalFigures.of(figures));
  }

  /** Keeps the figures since the last sample; called every {@link #STEP}. */
  public void sample() {
    window.sample();
    float[] packed = VitalFigures.of(step.figures()).packed();
    synchronized (this) {
      samples.addFirst(new Sample(clock.nanos(), packed));
      if (samples.size() > KEPT) {
        samples.removeLast();
      }
    }
  }

  /** The samples that are kept, the latest first. */
  public synchronized List<VitalSample> history() {
    long now = clock.nanos();
    return samples.stream().map(sample -> sample.at(now)).toList();
  }
}
