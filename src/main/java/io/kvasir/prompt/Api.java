package io.kvasir.prompt;

/** The shapes in which a request can carry a prompt. */
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
