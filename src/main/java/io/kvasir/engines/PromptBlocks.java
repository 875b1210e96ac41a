package io.kvasir.engines;

import java.util.SortedSet;
import org.jspecify.annotations.Nullable;

/** Into how many tokens prompts are cut for engines of one model whose blocks are of several sizes. */
public final class PromptBlocks {
  /** Below this, blocks of one engine would make the index of all others too large. */
  private static final int MIN_SHARED = 8;

  private PromptBlocks() {}

  /**
   * The size that fits into all, which one of them has: what engines with larger blocks hold is cut into such. Null
   * where there is none.
   *
   * @param sizes tokens in a block of each engine, at least one
   */
  public static @Nullable Integer shared(SortedSet<Integer> sizes) {
    int smallest = sizes.first();
    boolean fits = sizes.stream().allMatch(size -> size % smallest == 0);
    return sizes.size() == 1 || (fits && smallest >= MIN_SHARED) ? smallest : null;
  }
}
