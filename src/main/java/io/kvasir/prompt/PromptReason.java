package io.kvasir.prompt;

import java.util.Locale;

/** Why a prompt was not prepared as its model is configured, or its chain ends early. */
public enum PromptReason {
  /** It was prepared as configured, to its end. */
  AS_CONFIGURED,
  /** No model of this name is configured. */
  UNKNOWN_MODEL,
  /** The body has no prompt of the shape its API asks for. */
  UNREADABLE,
  /** The template called {@code raise_exception}, or the engine would refuse the request before it gets there. */
  TEMPLATE_REFUSED,
  /** The model has no chat template, or it failed. */
  TEMPLATE_FAILED,
  /** The tokenizer failed. */
  TOKENIZER_FAILED,
  /** The engine's {@code /tokenize} failed or did not answer in time. */
  ENGINE_FAILED,
  /** Our tokens were found to differ from the engine's. */
  NO_PARITY,
  /** The chain ends before the prompt's first image, sound or other item. */
  MULTIMODAL,
  /** The conversation continues one that an engine keeps ({@code previous_response_id}). */
  STORED_RESPONSE,
  /** The prompt is embeddings, truncated or completed by a suffix: its tokens are not those of its text. */
  ALTERED;

  /** As metrics write it. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
