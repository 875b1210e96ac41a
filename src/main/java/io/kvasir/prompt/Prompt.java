package io.kvasir.prompt;

import io.kvasir.index.Chain;
import io.kvasir.index.Rendition;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The prepared prompt of a request, as most of the model's engines prepare it.
 *
 * @param chain the block hashes; empty when they are not known. In text mode a block is 32 bytes and counts as 8 tokens
 * @param tokens number of tokens: exact in exact and engine mode for prompts without media, else estimated
 * @param mode the mode in which the prompt was prepared
 * @param reason why that is not the configured mode, or why the chain ends early
 * @param detail description of the reason, null when there is nothing to add; for {@link PromptReason#TEMPLATE_REFUSED}
 *     the template's own message and for {@link PromptReason#REQUEST_TEMPLATE_REFUSED} what is wrong with it and the
 *     remedy, both meant for the client
 * @param renditions the same prompt for engines that prepare it otherwise
 */
public record Prompt(
    Chain chain,
    int tokens,
    PromptMode mode,
    PromptReason reason,
    @Nullable String detail,
    List<Rendition> renditions) {
  /** A prompt that all engines of the model prepare alike. */
  public Prompt(Chain chain, int tokens, PromptMode mode, PromptReason reason, @Nullable String detail) {
    this(chain, tokens, mode, reason, detail, List.of());
  }

  static Prompt unknown(PromptReason reason) {
    return new Prompt(Chain.EMPTY, 0, PromptMode.NONE, reason, null);
  }

  static Prompt refused(PromptReason reason, String detail) {
    return new Prompt(Chain.EMPTY, 0, PromptMode.NONE, reason, detail);
  }

  /** This prompt, which some engines prepare otherwise. */
  Prompt with(List<Rendition> others) {
    return new Prompt(chain, tokens, mode, reason, detail, others);
  }

  /** This prompt with at least {@code min} tokens. */
  Prompt ofAtLeast(int min) {
    return tokens >= min ? this : new Prompt(chain, min, mode, reason, detail);
  }

  /** This prompt without the block of the last token before a media item, which may merge with what follows. */
  Prompt withoutLastToken() {
    int blocks = Math.max(0, tokens - 1) / chain.blockSize();
    return blocks >= chain.length() ? this : new Prompt(chain.first(blocks), tokens, mode, reason, detail);
  }
}
