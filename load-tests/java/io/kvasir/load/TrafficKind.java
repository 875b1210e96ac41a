package io.kvasir.load;

import java.util.Locale;

/** What requests do to the caches of engines, for {@link Truth}. */
enum TrafficKind {
  /** Few conversations at a time that grow turn by turn. */
  MULTI_TURN(4, 8),
  /** The same, 64 at once. */
  CONCURRENT(64, 4),
  /** Conversations that continue several times from the same turn. */
  BRANCHING(8, 4),
  /** Agents, whose requests have tools, and turns the calls of tools and their results. */
  TOOLS(8, 6),
  /** The same by Anthropic's {@code /v1/messages}. */
  MESSAGES(8, 6),
  /** The same by OpenAI's {@code /v1/responses}. */
  RESPONSES(8, 6),
  /** The same prompts under several cache salts, which share nothing. */
  SALTED(8, 4),
  /** The same prompts to the model and its LoRA adapters, which share nothing. */
  LORA(8, 4),
  /** Prompts read by one engine and answered by another. */
  PREFILL_DECODE(4, 6),
  /** More conversations in turn than fit into the caches, so that every turn evicts blocks of another. */
  EVICTING(4, 8),
  /** A simulated engine crashes, and comes back empty half a second later. */
  RESTARTING(8, 6),
  /** Every third message of all simulated engines' events is lost, for two seconds. */
  LOSSY(8, 6);

  private final int clients;
  private final int turns;

  TrafficKind(int clients, int turns) {
    this.clients = clients;
    this.turns = turns;
  }

  /** Requests at a time. */
  int clients() {
    return clients;
  }

  /** Requests of a conversation. */
  int turns() {
    return turns;
  }

  /** Whether engines are disturbed meanwhile, so that only what comes afterwards has to be right. */
  boolean hasFault() {
    return this == RESTARTING || this == LOSSY;
  }

  /** Such as {@code multi-turn}. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
