package io.kvasir.cell;

import io.kvasir.index.BlockHash;
import io.kvasir.index.Chain;

/** Prompts of tests. */
public final class TestPrompts {
  private TestPrompts() {}

  /** A prompt of whole blocks, which begins as a longer one of the same seed does, and as none of another. */
  public static Chain chain(long seed, int blocks, int blockSize) {
    long[] hashes = new long[blocks];
    for (int i = 0; i < blocks; i++) {
      hashes[i] = BlockHash.chained(i == 0 ? BlockHash.NONE : hashes[i - 1], seed * 1000L + i + 1);
    }
    return new Chain(hashes, blockSize);
  }
}
