package io.kvasir.lab;

import io.kvasir.index.BlockHash;
import io.kvasir.lab.engine.CacheListener;
import io.kvasir.lab.engine.Sequence;

/** What happens in a cache, as an engine's events tell it: keys after a parent's. */
abstract class BlockEvents implements CacheListener {
  /** Blocks that follow {@code parent}, {@link BlockHash#NONE} for a root, are cached. */
  abstract void stored(long parent, long[] keys);

  @Override
  public final void stored(Sequence sequence, int from, int to) {
    if (sequence instanceof LabSequence known) {
      long[] keys = new long[to - from];
      for (int i = 0; i < keys.length; i++) {
        keys[i] = known.key(from + i);
      }
      stored(from == 0 ? BlockHash.NONE : known.key(from - 1), keys);
    }
  }

  @Override
  public final void cleared() {
    throw new IllegalStateException("engines of the laboratory are never reset");
  }
}
