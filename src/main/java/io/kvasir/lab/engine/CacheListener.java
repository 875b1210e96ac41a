package io.kvasir.lab.engine;

/** Hears what changes in a {@link PagedCache}, in order, on the thread that drives it. */
public interface CacheListener {
  /** Blocks {@code from} (inclusive) to {@code to} (exclusive) of {@code sequence} are in the cache now. */
  void stored(Sequence sequence, int from, int to);

  /** One copy of the block named {@code key} was evicted; others may remain. */
  void removed(long key);

  /** Every block is gone at once. */
  void cleared();
}
