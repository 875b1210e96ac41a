package io.kvasir.engines;

import org.jspecify.annotations.Nullable;

/**
 * An engine's KV cache; what the engine does not tell is null.
 *
 * @param blockSize tokens in a block
 * @param blocks blocks of each rank
 * @param ranks data-parallel ranks, each with a cache of its own
 * @param prefixCaching whether prefixes are kept for later requests
 * @param hashAlgorithm of the blocks, in the engine's own words
 * @param reportsCachedTokens whether the usage of a response has the tokens found in the cache
 * @param retainsSessions whether what a session has used is evicted after all else
 */
public record CacheDescription(
    @Nullable Integer blockSize,
    @Nullable Integer blocks,
    @Nullable Integer ranks,
    @Nullable Boolean prefixCaching,
    @Nullable String hashAlgorithm,
    @Nullable Boolean reportsCachedTokens,
    @Nullable Boolean retainsSessions) {
  /** That of an engine that knows no sessions. */
  public CacheDescription(
      @Nullable Integer blockSize,
      @Nullable Integer blocks,
      @Nullable Integer ranks,
      @Nullable Boolean prefixCaching,
      @Nullable String hashAlgorithm,
      @Nullable Boolean reportsCachedTokens) {
    this(blockSize, blocks, ranks, prefixCaching, hashAlgorithm, reportsCachedTokens, null);
  }

  /** A cache of which nothing is told. */
  static final CacheDescription UNTOLD = new CacheDescription(null, null, null, null, null, null);
}
