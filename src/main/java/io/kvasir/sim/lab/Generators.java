package io.kvasir.sim.lab;

/** Traces made up after a pattern. */
final class Generators {
  /** How their names begin. */
  static final String PREFIX = "gen:";

  private Generators() {}

  static TraceSource parse(String written) {
    throw new IllegalArgumentException(written + " is not known");
  }
}
