package io.kvasir.enginemodel;

/** A listener for the groups of a hybrid model, too, whose numbers are those in the cache's list, from 1 on. */
public interface GroupListener extends CacheListener {
  /**
   * Called when a group came to blocks {@code from} (inclusive) to {@code to} (exclusive) of {@code sequence}, and
   * cached those that are {@code kept}, which may be none.
   */
  void stored(int group, Sequence sequence, int from, int to, int[] kept);

  /** Called when one copy of a group's block named {@code key} was evicted; others may remain. */
  void removed(int group, long key);
}
