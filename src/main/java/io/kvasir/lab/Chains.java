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
  static BlockHashes of(int tokens, int block, int shared, long group, long own) {
    int length = tokens / block;
    return new BlockHashes.Computed(length, Math.min(length, shared / block), group << 24, OWN | own << 24);
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
