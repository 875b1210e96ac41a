package io.kvasir.routing;

import io.kvasir.index.Chain;

/** The slots that plugins share. What is known of a prompt is filled for every request. */
public final class Slots {
  /** Tokens of the prompt, estimated where they could not be counted. */
  public static final Slot<Long> PROMPT_TOKENS = Slot.number("prompt-tokens");

  /** Block hashes of the prompt, {@link Chain#EMPTY} when nothing is known of it. */
  public static final Slot<Chain> CHAIN = Slot.of("chain", Chain.class);

  /** What keeps a conversation together, empty when the request carries nothing of the kind. */
  public static final Slot<String> SESSION_KEY = Slot.of("session-key", String.class);

  /**
   * A number that requests which belong together have in common, for hashing; {@link #NO_KEY} when there is nothing of
   * the kind.
   */
  public static final Slot<Long> HASH_KEY = Slot.number("hash-key");

  /** The {@link #HASH_KEY} of a request that belongs to no other. */
  public static final long NO_KEY = 0;

  /** The request itself, given to preparers where it arrived; nobody fills it and nobody else may read it. */
  public static final Slot<RequestFacts> FACTS = Slot.of("request-facts", RequestFacts.class);

  private Slots() {}

  /**
   * Tokens of a request's prompt: at least 1, whatever was counted, since a load of nothing would draw every
   * request to one worker.
   */
  public static int promptTokens(RoutingContext context) {
    return (int) Math.clamp(context.number(PROMPT_TOKENS), 1L, Integer.MAX_VALUE);
  }
}
