package io.kvasir.enginemodel;

/** A listener for changes of a {@link PagedCache}, called in order on the thread that drives it. */
public interface CacheListener {
  /** Called when blocks {@code from} (inclusive) to {@code to} (exclusive) of {@code sequence} were cached. */
  void stored(Sequence sequence, int from, int to);

  /** Called when one copy of the block named {@code key} was evicted; others may remain. */
  void removed(long key);

  /** Called when copies of the first {@code count} blocks were evicted one after the other, with nothing between. */
  default void removed(long[] keys, int count) {
    for (int i = 0; i < count; i++) {
      removed(keys[i]);
    }
  }

  /** Called when all blocks were removed at once. */
  void cleared();
}
