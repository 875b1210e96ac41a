package io.kvasir.routing;

import java.util.function.LongSupplier;

/**
 * Times the parts of one decision in {@value #SAMPLE}, the first among them; reading the clock for every
 * one would be a good part of the work it measures. One thread at a time.
 */
final class StageClock {
  private static final int SAMPLE = 16;

  private final RoutingMetrics metrics;
  private final LongSupplier nanoClock;
  private int decisions;
  private boolean running;
  private long last;

  StageClock(RoutingMetrics metrics, LongSupplier nanoClock) {
    this.metrics = metrics;
    this.nanoClock = nanoClock;
  }

  void start() {
    running = decisions++ % SAMPLE == 0;
    if (running) {
      last = nanoClock.getAsLong();
    }
  }

  /** The part that began at the last call has ended. */
  void endPhase(RoutingMetrics.DecisionPhase part) {
    if (running) {
      long now = nanoClock.getAsLong();
      metrics.recordPhase(part, now - last);
      last = now;
    }
  }
}
