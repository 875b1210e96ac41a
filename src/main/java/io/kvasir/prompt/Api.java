package io.kvasir.prompt;

/** The APIs whose requests have prompts, each with its own body. */
public enum Api {
  /** {@code /v1/chat/completions}. */
  CHAT,
  /** {@code /v1/completions}. */
  COMPLETIONS,
  /** {@code /v1/embeddings}. */
  EMBEDDINGS,
  /** {@code /v1/responses}. */
  RESPONSES,
  /** {@code /v1/messages}, Anthropic's. */
  MESSAGES
}
