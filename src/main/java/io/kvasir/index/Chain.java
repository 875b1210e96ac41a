package io.kvasir.index;

import java.util.Arrays;

/**
 * The block hashes of one prompt, in order: the input of a search, sent between nodes instead of the prompt.
 *
 * @param hashes chain hashes of the prompt's full blocks; never changed after construction
 * @param blockSize tokens in a block, at least 1
 */
public record Chain(long[] hashes, int blockSize) {
  /** The chain of a prompt whose blocks are unknown. */
  public static final Chain EMPTY = new Chain(new long[0], 1);

  /** The number of full blocks of the prompt. */
  public int length() {
    return hashes.length;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Chain(long[] otherHashes, int otherSize)
        && otherSize == blockSize
        && Arrays.equals(otherHashes, hashes);
  }

  @Override
  public int hashCode() {
    return 31 * Arrays.hashCode(hashes) + blockSize;
  }

  @Override
  public String toString() {
    return "Chain[" + hashes.length + " blocks of " + blockSize + "]";
  }
}
