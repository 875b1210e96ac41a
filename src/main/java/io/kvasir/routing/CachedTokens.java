package io.kvasir.routing;

/** How many tokens of a prompt an engine will find in its cache. */
public final class CachedTokens {
  private CachedTokens() {}

  /**
   * Tokens cached by a worker that holds {@code depth} leading blocks: whole blocks, and never the whole
   * prompt, since an engine computes at least the last token to have something to generate from.
   *
   * @param depth at most the blocks of a prompt that fits in memory, so that their tokens are an int
   * @param promptTokens at least 1
   * @return between 0 and {@code promptTokens - 1}
   */
  public static int predicted(int depth, int blockSize, int promptTokens) {
    return Math.min(depth * blockSize, most(blockSize, promptTokens));
  }

  private static int most(int blockSize, int promptTokens) {
    return (promptTokens - 1) / blockSize * blockSize;
  }
}
