package io.kvasir.cell.worker;

import io.kvasir.index.Chain;

/**
 * What an engine computes of a prompt though it holds it.
 *
 * @param most leading blocks that it goes on from at most
 * @param again of those that it holds, the last ones that it computes again: 0 or 1
 */
record Recomputation(int most, int again) {
  /** Nothing that decides: the last token is computed by all. */
  static final Recomputation NONE = new Recomputation(Integer.MAX_VALUE, 0);

  /**
   * The last block that is held. Of a prompt of whole blocks, whose last token is looked up nowhere, that is the one
   * before its last; but a hybrid model's engine looks for a block more than it may go on from ({@code
   * HybridKVCacheCoordinator} of vLLM's {@code v1/core/kv_cache_coordinator.py}).
   */
  static Recomputation ofLastBlock(Chain chain, boolean hybrid) {
    Chain.Lookahead lookahead = chain.lookahead();
    boolean whole = lookahead != null && lookahead.rest() == 0 && !hybrid;
    return new Recomputation(whole ? chain.length() - 1 : chain.length(), 1);
  }

  /** Leading blocks that it goes on from where it holds so many. */
  int of(int held) {
    return Math.max(0, Math.min(held, most) - again);
  }
}
