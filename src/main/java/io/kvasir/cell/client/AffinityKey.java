package io.kvasir.cell.client;

import io.kvasir.cell.DecisionRequest;
import io.kvasir.index.Chain;
import io.kvasir.routing.Hashing;
import io.kvasir.routing.Slots;

/** What requests have in common that should meet in one cell, or on one worker where nothing better is known. */
final class AffinityKey {
  /**
   * Prompts are alike when this much of them is, and never by one block alone: what all requests begin with, such as
   * a system prompt, would bring them all together.
   */
  private static final int PREFIX_TOKENS = 1024;

  private static final int MIN_BLOCKS = 2;

  private AffinityKey() {}

  /**
   * The same for requests of one session and, where none is named, for prompts that begin alike. Of a prompt shorter
   * than what counts, a power of two of blocks does, so that one that grows changes its key seldom.
   */
  static long of(DecisionRequest request) {
    String session = request.prepared().get(Slots.SESSION_KEY);
    if (session != null && !session.isEmpty()) {
      return Hashing.of(session);
    }
    Chain chain = request.prompt().chain();
    if (chain.length() == 0) {
      return Hashing.of(request.requestId());
    }
    int alike = Math.max(MIN_BLOCKS, PREFIX_TOKENS / chain.blockSize());
    return chain.hashes()[Integer.highestOneBit(Math.min(chain.length(), alike)) - 1];
  }
}
