package io.kvasir.answers;

import org.jspecify.annotations.Nullable;

/** The APIs whose answers can be kept. */
public enum AnswerApi {
  CHAT,
  COMPLETIONS,
  RESPONSES,
  MESSAGES,
  EMBEDDINGS,
  RERANK;

  /** The API at a path, null when its answers cannot be kept. */
  static @Nullable AnswerApi forPath(String path) {
    return switch (path) {
      case "/v1/chat/completions" -> CHAT;
      case "/v1/completions" -> COMPLETIONS;
      case "/v1/responses" -> RESPONSES;
      case "/v1/messages" -> MESSAGES;
      case "/v1/embeddings" -> EMBEDDINGS;
      case "/v1/rerank", "/v2/rerank", "/rerank" -> RERANK;
      default -> null;
    };
  }

  /** Whether its answers are generated token by token, and so may be sampled. */
  boolean generates() {
    return switch (this) {
      case CHAT, COMPLETIONS, RESPONSES, MESSAGES -> true;
      case EMBEDDINGS, RERANK -> false;
    };
  }
}
