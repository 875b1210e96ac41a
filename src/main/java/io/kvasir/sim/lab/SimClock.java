package io.kvasir.sim.lab;

/** The time of one run. */
final class SimClock {
  /** Milliseconds since the trace began. */
  double nowMs;
}
