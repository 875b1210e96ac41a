package io.kvasir.lab;

/** A source of traces: a recorded trace or a generator. Immutable and thread-safe. */
interface TraceSource {
  /** Its name in reports. */
  String name();

  /**
   * The trace at a load.
   *
   * @param scale the load, as a multiple of the source's own
   * @param seed the seed of everything random
   */
  WorkloadTrace at(double scale, long seed);
}
