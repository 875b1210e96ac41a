package io.kvasir.lab;

/** The simulated clock of one run. */
final class LabClock {
  /** The simulated time, in milliseconds since the trace began. */
  double nowMs;
}
