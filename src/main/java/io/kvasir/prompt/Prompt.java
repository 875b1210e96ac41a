package io.kvasir.prompt;

import io.kvasir.index.Chain;
import org.jspecify.annotations.Nullable;

/**
 * What is known of a request's prompt.
 *
 * @param chain its blocks; empty when nothing is known. In text mode a block is 32 bytes and counts as 8 tokens
 * @param tokens its length in tokens: exact in exact and engine mode of a prompt without images and the like, else
 *     estimated
 * @param mode where the blocks come from
 * @param reason why that is not the mode configured, or the chain ends early
 * @param detail in words what {@code why} names, null when there is nothing to add; for
 *     {@link PromptReason#TEMPLATE_REFUSED} the template's own message, meant for the client
 */
public record Prompt(Chain chain, int tokens, PromptMode mode, PromptReason reason, @Nullable String detail) {
  static Prompt unknown(PromptReason why) {
    return new Prompt(Chain.EMPTY, 0, PromptMode.NONE, why, null);
  }

  /** The same of a prompt that has at least so many tokens. */
  Prompt ofAtLeast(int least) {
    return tokens >= least ? this : new Prompt(chain, least, mode, reason, detail);
  }
}
