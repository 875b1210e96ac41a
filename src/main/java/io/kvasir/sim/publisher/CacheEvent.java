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
   */
  record Stored(
      @Nullable Long parent,
      long[] keys,
      int[] tokens,
      int blockSize,
      @Nullable String lora,
      @Nullable String salt,
      String medium)
      implements CacheEvent {}

  /** One copy of each block was removed. */
  record Removed(long[] keys, String medium) implements CacheEvent {}

  /** The whole cache was cleared. */
  record Cleared() implements CacheEvent {}
}
