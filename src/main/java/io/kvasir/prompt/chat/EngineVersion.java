package io.kvasir.prompt.chat;

import org.jspecify.annotations.Nullable;

/** The make and version of an engine, on which depends how it prepares a conversation for its template. */
public sealed interface EngineVersion permits VllmVersion, SglangVersion, TensorRtVersion {
  /**
   * That of an engine; those of other makes are taken to prepare conversations as the newest vLLM does.
   *
   * @param make such as {@code SGLang}
   * @param version as the engine tells it, null when it does not
   * @param reasoningParser of SGLang, null when it has none
   */
  static EngineVersion of(String make, @Nullable String version, @Nullable String reasoningParser) {
    return switch (make) {
      case "SGLang" -> SglangVersion.of(version, reasoningParser);
      case "vLLM" -> VllmVersion.of(version);
      case "TensorRT-LLM" -> TensorRtVersion.of(version);
      // Their versions count otherwise: none prepares as a vLLM of that number would.
      default -> VllmVersion.NEWEST;
    };
  }

  /** Whether its {@code /tokenize} takes conversations, and not texts alone. */
  default boolean tokenizesConversations() {
    return true;
  }

  /** The same as one of two that share a request. */
  default EngineVersion asDisaggregated() {
    return this;
  }
}
