package io.kvasir.lmcache;

import io.kvasir.index.Chain;

/**
 * The whole chunks of a prompt, and the keys by which it shares the results of lookups.
 *
 * @param model empty where models are not kept apart
 * @param salt empty without one, and where salts are not kept apart
 * @param chain the prompt's blocks
 * @param chunkTokens tokens in a chunk, at least 1
 */
record ChunkedPrompt(String model, String salt, Chain chain, int chunkTokens) {
  /** For which prompts a result holds. */
  enum Extent {
    /** Those with these chunks and no more. */
    WHOLE,
    /** All that begin with these chunks, of which nobody holds the last one. */
    FIRST_MISSING
  }

  /**
   * The prompts of a model and a salt that share a result.
   *
   * @param hash of their common chunks
   */
  record Key(String model, String salt, long hash, Extent extent) {}

  int count() {
    return (int) Math.min(Integer.MAX_VALUE, (long) chain.length() * chain.blockSize() / chunkTokens);
  }

  /** The key of the prompt's own lookup. There is at least one chunk. */
  Key whole() {
    return new Key(model, salt, hash(count()), Extent.WHOLE);
  }

  /** The key of a result by which the last of the first {@code chunks} chunks is the first one that is missing. */
  Key firstMissing(int chunks) {
    return new Key(model, salt, hash(chunks), Extent.FIRST_MISSING);
  }

  /** The hash of the prefix up to the block that contains the end of the first {@code chunks} chunks. */
  private long hash(int chunks) {
    int blocks = Math.ceilDiv(chunks * chunkTokens, chain.blockSize());
    return chain.hashes()[Math.min(blocks, chain.length()) - 1];
  }
}
