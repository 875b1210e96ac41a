package io.kvasir.prompt;

import java.util.Locale;

/** Where a prompt's blocks come from, and how far they can be trusted. */
public enum PromptMode {
  /** Our own template and tokenizer, or ids that the request brought: the blocks that engines report. */
  EXACT,
  /** The engine's {@code /tokenize}: the same blocks, for a round trip. */
  ENGINE,
  /** Chunks of text: they never meet an engine's events, only other prompts hashed in the same way. */
  TEXT,
  /** Nothing is known of the prompt. */
  NONE;

  /** As configuration and metrics write it. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
