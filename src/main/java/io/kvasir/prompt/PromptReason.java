package io.kvasir.prompt;

import java.util.Locale;

/** The reason why a prompt was not prepared in its model's configured mode, or why its chain ends early. */
public enum PromptReason {
  /** None: it was prepared as configured, to its end. */
  AS_CONFIGURED,
  /** No model with this name is configured. */
  UNKNOWN_MODEL,
  /** The body has no prompt in its API's format. */
  UNREADABLE,
  /** Preparing it failed by a fault of ours, which the log has. */
  FAILED,
  /** The template called {@code raise_exception}, or the engine would refuse the request before rendering. */
  TEMPLATE_REFUSED,
  /** The request's own chat template is not allowed, cannot be parsed or exceeds its limits. */
  REQUEST_TEMPLATE_REFUSED,
  /** The model has no chat template, or it failed: the engine tokenises the conversation if it can be asked. */
  TEMPLATE_FAILED,
  /** The model's chat template exceeded its limits on this conversation. */
  TEMPLATE_LIMIT,
  /** The tokenizer failed, or the text has a word, or a stretch that cannot be cut, of more than a mebibyte. */
  TOKENIZER_FAILED,
  /** The engine's {@code /tokenize} failed or did not answer in time. */
  ENGINE_FAILED,
  /** The engine's {@code /tokenize} refused the prompt, or is known not to render it as the engine does. */
  ENGINE_REFUSED,
  /** A comparison found that our tokens differ from the engine's. */
  NO_PARITY,
  /** The chain ends before the prompt's first media item. */
  MULTIMODAL,
  /** The conversation continues one that an engine stores ({@code previous_response_id}). */
  STORED_RESPONSE,
  /** The request asks for log-probabilities of the prompt, for which engines compute all of it, whatever they hold. */
  CACHE_UNREAD,
  /** The prompt is embeddings, truncated or has a suffix or other messages: its tokens are not those of its text. */
  ALTERED;

  /** The label in metrics. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
