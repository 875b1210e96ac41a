package io.kvasir.routing;

/**
 * The size of a prompt, from which its cached and uncached tokens on a worker follow.
 *
 * @param tokens tokens of the prompt, at least 1
 * @param blockSize tokens in a block of its chain, at least 1
 */
public record PromptSize(int tokens, int blockSize) {
  /** The size of a request's prompt. */
  public static PromptSize of(RoutingContext context) {
    return new PromptSize(Slots.promptTokens(context), context.get(Slots.CHAIN).blockSize());
  }

  /**
   * Tokens cached by a worker that holds {@code depth} leading blocks: whole blocks, and never the whole prompt, since
   * an engine computes at least the last token to have something to generate from.
   *
   * @param depth at most the blocks of a prompt that fits in memory, so that their tokens are an int
   * @return between 0 and {@code tokens - 1}
   */
  public int cached(int depth) {
    return Math.min(depth * blockSize, (tokens - 1) / blockSize * blockSize);
  }

  /**
   * Tokens to compute, at least 1, for a worker that holds {@code depth} leading blocks and can load {@code loadable}
   * leading tokens from a cache layer.
   */
  public int uncached(int depth, int loadable) {
    return Math.min(uncached(depth), tokens - Math.min(loadable, tokens - 1));
  }

  /** Tokens a worker that holds {@code depth} leading blocks has to compute, at least 1. */
  public int uncached(int depth) {
    return tokens - cached(depth);
  }
}
