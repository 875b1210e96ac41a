package io.kvasir.routing;

import io.kvasir.time.NanoClock;

/**
 * A timer for the phases of one decision in {@value #SAMPLE}, the first included; reading the clock in every decision
 * would take a good part of the time that it measures. Used by one thread at a time.
 */
final class StageClock {
  private static final int SAMPLE = 16;

  private final RoutingMetrics metrics;
  private final NanoClock clock;
  private int decisions;
  private boolean sampled;
  private long last;

  StageClock(RoutingMetrics metrics, NanoClock clock) {
    this.metrics = metrics;
    this.clock = clock;
  }

  void start() {
    sampled = decisions++ % SAMPLE == 0;
    if (sampled) {
      last = clock.nanos();
    }
  }

  /** Records the phase that began at the last call. */
  void endPhase(RoutingMetrics.DecisionPhase phase) {
    if (sampled) {
      long now = clock.nanos();
      metrics.recordPhase(phase, now - last);
      last = now;
    }
  }
}
