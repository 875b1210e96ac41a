package io.kvasir.lab;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** A synthetic workload: every trace it generates follows from its parameters, the load and the seed. */
abstract class TraceGenerator implements TraceSource {
  private final String name;
  private final int blockSize;

  /**
   * A generator named as it was written.
   *
   * @param blockSize tokens in a block of the chains, where the parameters do not set it
   */
  TraceGenerator(GeneratorParameters parameters, int blockSize) {
    this.name = parameters.name();
    this.blockSize = parameters.integer("block", blockSize, 1);
  }

  @Override
  public final String name() {
    return name;
  }

  @Override
  public final WorkloadTrace at(double scale, long seed) {
    List<LabRequest> requests = new ArrayList<>();
    generate(scale, new SplittableRandom(seed), requests);
    return new WorkloadTrace(blockSize, requests);
  }

  /** Tokens in a block of the requests' chains. */
  final int blockSize() {
    return blockSize;
  }

  /** Adds the requests of a trace, in the order of the trace. */
  abstract void generate(double scale, SplittableRandom random, List<LabRequest> requests);
}
