package io.kvasir.routing;

import io.kvasir.index.Chain;

/** The slots that the built-in plugins share. Prompt tokens and chain are filled for every request. */
public final class Slots {
  /** Number of tokens of the prompt, estimated where they could not be counted. */
  public static final Slot<Long> PROMPT_TOKENS = Slot.number("prompt-tokens");

  /** Block hashes of the prompt, {@link Chain#EMPTY} when they are not known. */
  public static final Slot<Chain> CHAIN = Slot.of("chain", Chain.class);

  /** Key of the request's session, empty when it has none. */
  public static final Slot<String> SESSION_KEY = Slot.of("session-key", String.class);

  /**
   * Ids of the workers that the session's last request went to, with commas between; empty when they are not known.
   * Filled by the node where the request arrives, for a home that does not know the session yet.
   */
  public static final Slot<String> SESSION_WORKERS =
      Slot.encoded("session-workers", String.class, new Slot.TextCodec<>(ids -> ids, ids -> ids), false);

  /** Name of the program that the request is a turn of; empty when it has none. No plugin fills it. */
  public static final Slot<String> PROGRAM = Slot.of("program", String.class);

  /**
   * Tenant of a request that names no program: those of other tenants are not its, however equal their prompts. Empty
   * when it has none. No plugin fills it.
   */
  public static final Slot<String> PROGRAM_TENANT = Slot.of("program-tenant", String.class);

  /** Name of the program that started that one; empty when it has none. No plugin fills it. */
  public static final Slot<String> PROGRAM_PARENT = Slot.of("program-parent", String.class);

  /** 1 for a request that is its program's last one. No plugin fills it. */
  public static final Slot<Long> PROGRAM_LAST = Slot.number("program-last");

  /**
   * Hash key that related requests have in common, for consistent hashing; {@link #NO_KEY} when the request has none.
   */
  public static final Slot<Long> HASH_KEY = Slot.number("hash-key");

  /** The {@link #HASH_KEY} of a request without related ones. */
  public static final long NO_KEY = 0;

  /** Label selector of the client, such as {@code tier=gold,!spot}; empty when it has none. */
  public static final Slot<String> REQUIRED_LABELS = Slot.of("wanted-labels", String.class);

  /** Workers or pods that the client allows, separated by commas; empty when it allows all. */
  public static final Slot<String> ALLOWED_WORKERS = Slot.of("allowed-workers", String.class);

  /** Workers or pods that the client excludes, separated by commas; empty when it excludes none. */
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

  /** The request's shape; {@link RequestShape#TEXT} when it is empty. */
  public static final Slot<RequestShape> REQUEST_SHAPE = Slot.of("work", RequestShape.class);

  /** The worker of the plan's other step, {@link Partner#NONE} when there is none. Filled by workflows. */
  public static final Slot<Partner> PARTNER = Slot.of("partner", Partner.class);

  private Slots() {}

  /** The request's shape. */
  public static RequestShape requestShape(RoutingContext context) {
    return context.has(REQUEST_SHAPE) ? context.get(REQUEST_SHAPE) : RequestShape.TEXT;
  }

  /**
   * Tokens of a request's prompt: at least 1, whatever was counted, since loads of zero would attract every request to
   * one worker.
   */
  public static int promptTokens(RoutingContext context) {
    return (int) Math.clamp(context.number(PROMPT_TOKENS), 1L, Integer.MAX_VALUE);
  }
}
