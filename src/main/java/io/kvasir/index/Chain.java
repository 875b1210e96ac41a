package io.kvasir.index;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The block hashes of one prompt, in order: the input of a search, sent between nodes instead of the prompt.
 *
 * @param hashes chain hashes of the prompt's full blocks; never changed after construction
 * @param blockSize tokens in a block, at least 1
 * @param lookahead how the prompt goes on after each block; null where that is not known
 */
public record Chain(long[] hashes, int blockSize, @Nullable Lookahead lookahead) {
  /** The chain of a prompt whose blocks are unknown. */
  public static final Chain EMPTY = new Chain(new long[0], 1);

  /**
   * How a prompt goes on after each of its blocks: some engines share a block only among prompts that go on alike.
   *
   * @param tokens of each block the {@linkplain BlockHash#fold folded} token after it, of the last one where there is
   *     any; never changed after construction
   * @param rest tokens after the last full block
   */
  public record Lookahead(short[] tokens, int rest) {
    @Override
    public boolean equals(Object other) {
      return other instanceof Lookahead(short[] otherTokens, int otherRest)
          && otherRest == rest
          && Arrays.equals(otherTokens, tokens);
    }

    @Override
    public int hashCode() {
      return 31 * Arrays.hashCode(tokens) + rest;
    }
  }

  /** A chain of which nothing else is known. */
  public Chain(long[] hashes, int blockSize) {
    this(hashes, blockSize, null);
  }

  /** The chain of a prompt of these tokens. */
  public static Chain of(BlockHash hash, int[] tokens, int blockSize) {
    long[] hashes = new long[tokens.length / blockSize];
    hash.chain(BlockHash.NONE, tokens, 0, tokens.length, blockSize, hashes, 0);
    short[] next = new short[Math.max(0, tokens.length - 1) / blockSize];
    for (int i = 0; i < next.length; i++) {
      next[i] = BlockHash.fold(tokens[(i + 1) * blockSize]);
    }
    return new Chain(hashes, blockSize, new Lookahead(next, tokens.length - hashes.length * blockSize));
  }

  /** The number of full blocks of the prompt. */
  public int length() {
    return hashes.length;
  }

  /** The chain of its first {@code blocks} blocks, at most all of them. */
  public Chain first(int blocks) {
    if (blocks == hashes.length) {
      return this;
    }
    Lookahead known = lookahead;
    return new Chain(
        Arrays.copyOf(hashes, blocks), blockSize,
        known == null ? null : new Lookahead(Arrays.copyOf(known.tokens, blocks), tokensAfter(known, blocks - 1)));
  }

  /**
   * The name of a block for engines that share it only among prompts that go on alike; {@link BlockHash#NONE} where the
   * prompt has fewer than {@code least} tokens after it. Not to be asked where {@link #lookahead} is not known.
   *
   * @param least at least 1
   */
  public long withLookahead(int block, int least) {
    Lookahead known = lookahead;
    return known == null || tokensAfter(known, block) < least
        ? BlockHash.NONE
        : BlockHash.withLookahead(hashes[block], known.tokens[block]);
  }

  private int tokensAfter(Lookahead known, int block) {
    return (hashes.length - 1 - block) * blockSize + known.rest;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Chain(long[] otherHashes, int otherSize, Lookahead otherLookahead)
        && otherSize == blockSize
        && Arrays.equals(otherHashes, hashes)
        && (otherLookahead == null ? lookahead == null : otherLookahead.equals(lookahead));
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
