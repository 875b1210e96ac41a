package io.kvasir.prompt;

import java.util.Locale;

/** The mode of preparing prompts: the source of their block hashes. */
public enum PromptMode {
  /** Our own template and tokenizer, or token ids in the request: the blocks that engines report. */
  EXACT,
  /** The engine's {@code /tokenize}: the same blocks, at the cost of a round trip. */
  ENGINE,
  /** Chunks of text: they match no engine's events, only other prompts that are hashed in the same way. */
  TEXT,
  /** No blocks: the prompt is not known. */
  NONE;

  /** The label in configuration and metrics. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
