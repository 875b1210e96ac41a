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

  /** Labels the client asks for, as a selector such as {@code tier=gold,!spot}; empty when it does not. */
  public static final Slot<String> REQUIRED_LABELS = Slot.of("wanted-labels", String.class);

  /** Workers or pods the client allows, with commas between; empty when it allows all. */
  public static final Slot<String> ALLOWED_WORKERS = Slot.of("allowed-workers", String.class);

  /** Workers or pods the client does not want, with commas between; empty when it has nothing against any. */
  public static final Slot<String> EXCLUDED_WORKERS = Slot.of("unwanted-workers", String.class);

  /** The client's location; parts that are not known are empty. */
  public static final Slot<Location> LOCATION =
      Slot.encoded("location", Location.class, new Slot.TextCodec<>(Location::encode, Location::decode), true);
  /** The semantic cluster of the user's text: a name and labels from the configuration. */
  public static final Slot<SemanticCluster> SEMANTIC_CLUSTER =
      Slot.encoded(
          "semantic-cluster",
          SemanticCluster.class,
          new Slot.TextCodec<>(SemanticCluster::encode, SemanticCluster::decode),
          false);
  /** The cache layer's answer about the prompt, {@link CacheMatches#UNKNOWN} when there is none. */
  public static final Slot<CacheMatches> CACHE_MATCHES =
      Slot.encoded(
          "cache-matches", CacheMatches.class, new Slot.TextCodec<>(CacheMatches::encode, CacheMatches::decode), false);
  /** The request itself, which preparers read on the node where it arrived; no plugin fills it. */
  public static final Slot<RequestFacts> FACTS = Slot.of("request-facts", RequestFacts.class);

  /** What the request asks for; {@link RequestShape#TEXT} where nobody has said. */
  public static final Slot<RequestShape> REQUEST_SHAPE = Slot.of("work", RequestShape.class);

  /** The worker that another step of the plan has, {@link Partner#NONE} when there is none. Filled by workflows. */
  public static final Slot<Partner> PARTNER = Slot.of("partner", Partner.class);

  private Slots() {}

  /** What the request asks for. */
  public static RequestShape requestShape(RoutingContext context) {
    return context.has(REQUEST_SHAPE) ? context.get(REQUEST_SHAPE) : RequestShape.TEXT;
  }

  /**
   * Tokens of a request's prompt: at least 1, whatever was counted, since a load of nothing would draw every
   * request to one worker.
   */
  public static int promptTokens(RoutingContext context) {
    return (int) Math.clamp(context.number(PROMPT_TOKENS), 1L, Integer.MAX_VALUE);
  }
}
