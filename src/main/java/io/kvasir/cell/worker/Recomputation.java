package io.kvasir.cell.worker;

import io.kvasir.index.Chain;

/**
 * What an engine computes of a prompt though it holds it, in blocks of the prompt, of which one of the engine may have
 * several.
 *
 * @param most leading blocks that it goes on from at most
 * @param again of those that it holds, the last ones that it computes again: none, or those of one of its blocks
 * @param parts blocks of the prompt in one of the engine's: it goes on from whole ones of its own
 */
record Recomputation(int most, int again, int parts) {
  /** Nothing that decides: the last token is computed by all. */
  static final Recomputation NONE = new Recomputation(Integer.MAX_VALUE, 0, 1);

  /** What is not a whole block of the engine's before the prompt's last token. */
  static Recomputation ofParts(Chain chain, int parts) {
    return parts == 1 ? NONE : new Recomputation(beforeLastToken(chain), 0, parts);
  }

  /**
   * The last block that is held. Of a prompt of whole blocks, whose last token is looked up nowhere, that is the one
   * before its last; but a hybrid model's engine looks for a block more than it may go on from ({@code
   * HybridKVCacheCoordinator} of vLLM's {@code v1/core/kv_cache_coordinator.py}).
   */
  static Recomputation ofLastBlock(Chain chain, boolean hybrid, int parts) {
    return new Recomputation(hybrid ? chain.length() : beforeLastToken(chain), parts, parts);
  }

  /** Leading blocks of a prompt after which it has a token. */
  private static int beforeLastToken(Chain chain) {
    Chain.Lookahead lookahead = chain.lookahead();
    return lookahead != null && lookahead.rest() == 0 ? chain.length() - 1 : chain.length();
  }

  /** Leading blocks that it goes on from where it holds so many. */
  int of(int held) {
    int whole = Math.min(held, most);
    return Math.max(0, whole - whole % parts - again);
  }
}
