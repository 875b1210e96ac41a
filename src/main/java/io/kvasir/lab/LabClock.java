package io.kvasir.lab;

/** The time of one run. */
final class LabClock {
  /** Milliseconds since the trace began. */
  double nowMs;
}
