package io.kvasir.prompt;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The result of all comparisons with a model's engine, and the mode that follows: the configured mode until a prompt's
 * tokens differ from the engine's; then engine mode until that same prompt's tokens are equal again. Other prompts that
 * agree meanwhile do not end it. Thread-safe.
 */
final class ParityTracker {
  private static final Logger log = LoggerFactory.getLogger(ParityTracker.class);

  private final String model;
  private final PromptMode configured;
  private final PromptMetrics metrics;
  private volatile PromptMode mode;
  private volatile Parity parity = Parity.UNCHECKED;
  private volatile @Nullable PromptSource suspect;

  ParityTracker(String model, PromptMode configured, PromptMetrics metrics) {
    this.model = model;
    this.configured = configured;
    this.metrics = metrics;
    this.mode = configured;
    metrics.mode(model, configured);
  }

  PromptMode mode() {
    return mode;
  }

  Parity parity() {
    return parity;
  }

  /** The prompt that showed a difference, null while there is none. */
  @Nullable PromptSource suspect() {
    return suspect;
  }

  synchronized void record(PromptSource compared, Parity outcome) {
    metrics.parity(model, outcome.verdict());
    switch (outcome.verdict()) {
      case DIFFERENT -> {
        if (suspect == null) {
          log.warn("model {}: our tokens differ from the engine's, {}; prompts are tokenised by the engine from now on",
              model, outcome.difference());
        }
        mode = PromptMode.ENGINE;
        parity = outcome;
        suspect = compared;
      }
      case SAME -> {
        if (suspect == null) {
          parity = outcome;
        } else if (compared.equals(suspect)) {
          log.info("model {}: our tokens are equal to the engine's again", model);
          mode = configured;
          parity = outcome;
          suspect = null;
        }
      }
      case UNANSWERED, UNCHECKED -> { }
    }
    metrics.mode(model, mode);
  }
}
