package io.kvasir.lab;

import java.util.SplittableRandom;

/** Chains and random lengths for generators. */
final class Chains {
  private static final long OWN = 1L << 48;

  private Chains() {}

  /**
   * The chain of a text: blocks that lie wholly in its first {@code shared} tokens are the group's, the others its own.
   *
   * @param group 0 to 2²⁴
   * @param own the text's number, 0 to 2²⁴
   */
  static long[] of(int tokens, int block, int shared, long group, long own) {
    long[] chain = new long[tokens / block];
    int common = Math.min(chain.length, shared / block);
    for (int i = 0; i < chain.length; i++) {
      chain[i] = WorkloadTrace.hash(i < common ? group << 24 | i : OWN | own << 24 | i);
    }
    return chain;
  }

  /** A time between the events of a Poisson process, {@code mean} on average. */
  static double exponential(SplittableRandom random, double mean) {
    return -Math.log1p(-random.nextDouble()) * mean;
  }

  /** A length within a third of a mean, uniformly distributed. */
  static int around(SplittableRandom random, int mean) {
    return Math.max(1, (int) (mean * (2 + 2 * random.nextDouble()) / 3));
  }
}
