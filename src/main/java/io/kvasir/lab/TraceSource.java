package io.kvasir.lab;

/** Where requests come from: a recorded trace or a generator. Immutable and thread-safe. */
interface TraceSource {
  /** Its name in reports. */
  String name();

  /**
   * The requests at a load.
   *
   * @param scale how many times the load it stands for by itself
   * @param seed decides whatever the source leaves to chance
   */
  WorkloadTrace at(double scale, long seed);
}
