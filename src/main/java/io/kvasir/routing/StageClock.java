package io.kvasir.routing;

import io.kvasir.time.NanoClock;

/**
 * Times the parts of one decision in {@value #SAMPLE}, the first among them; reading the clock for every
 * one would be a good part of the work it measures. One thread at a time.
 */
final class StageClock {
  private static final int SAMPLE = 16;

  private final RoutingMetrics metrics;
  private final NanoClock clock;
  private int decisions;
  private boolean running;
  private long last;

  StageClock(RoutingMetrics metrics, NanoClock clock) {
    this.metrics = metrics;
    this.clock = clock;
  }

  void start() {
    running = decisions++ % SAMPLE == 0;
    if (running) {
      last = clock.nanos();
    }
  }

  /** The part that began at the last call has ended. */
  void endPhase(RoutingMetrics.DecisionPhase part) {
    if (running) {
      long now = clock.nanos();
      metrics.recordPhase(part, now - last);
      last = now;
    }
  }
}
