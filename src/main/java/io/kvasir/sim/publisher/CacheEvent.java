package io.kvasir.sim.publisher;

import org.jspecify.annotations.Nullable;

/** A change of an engine's prefix cache, before it is encoded. */
public sealed interface CacheEvent {
  /**
   * Consecutive blocks of one sequence are cached now.
   *
   * @param parent key of the block before the first; null when the first is block 0
   * @param keys the blocks' keys
   * @param tokens all their tokens, unsigned, {@code keys.length × blockSize} of them
   * @param blockSize tokens per block
   * @param lora LoRA name, or null
   * @param salt cache salt, or null
   * @param medium where they are: {@code GPU}, {@code CPU} …
   * @param next the token after each block, on which its key depends; none where it does not
   */
  record Stored(
      @Nullable Long parent,
      long[] keys,
      int[] tokens,
      int blockSize,
      @Nullable String lora,
      @Nullable String salt,
      String medium,
      int[] next)
      implements CacheEvent {
    private static final int[] ANY = {};

    /** Of blocks whose keys do not depend on what comes after them. */
    public Stored(
        @Nullable Long parent,
        long[] keys,
        int[] tokens,
        int blockSize,
        @Nullable String lora,
        @Nullable String salt,
        String medium) {
      this(parent, keys, tokens, blockSize, lora, salt, medium, ANY);
    }
  }

  /** One copy of each block was removed. */
  record Removed(long[] keys, String medium) implements CacheEvent {}

  /**
   * Some consecutive blocks of one sequence are cached in a group beside the prefix's. Only vLLM's formats have it.
   *
   * @param blocks with the tokens of all that the group has come to, and the keys of those it keeps: fewer, or none
   */
  record StoredInGroup(Group group, Stored blocks) implements CacheEvent {}

  /** One copy of each block was removed from a group beside the prefix's. */
  record RemovedFromGroup(int group, long[] keys, String medium) implements CacheEvent {}

  /**
   * A KV cache group of a hybrid model.
   *
   * @param index its number, 0 for that of the prefix
   * @param kind as vLLM names it, such as {@code sliding_window}
   * @param window tokens of the window; null without one
   */
  record Group(int index, String kind, @Nullable Integer window) {
    /** That of full attention, which makes the prefix. */
    public static final Group PREFIX = new Group(0, "full_attention", null);
  }

  /** The whole cache was cleared. */
  record Cleared() implements CacheEvent {}
}
