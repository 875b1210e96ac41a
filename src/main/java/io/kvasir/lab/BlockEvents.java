package io.kvasir.lab;

import io.kvasir.enginemodel.CacheListener;
import io.kvasir.enginemodel.Sequence;
import io.kvasir.index.BlockHash;

/** A cache listener that receives blocks as an engine's events describe them: by key, after a parent's key. */
abstract class BlockEvents implements CacheListener {
  /** Receives stored blocks that follow {@code parent}, {@link BlockHash#NONE} for a root. */
  abstract void stored(long parent, long[] keys);

  @Override
  public final void stored(Sequence sequence, int from, int to) {
    if (sequence instanceof LabSequence labSequence) {
      long[] keys = new long[to - from];
      for (int i = 0; i < keys.length; i++) {
        keys[i] = labSequence.key(from + i);
      }
      stored(from == 0 ? BlockHash.NONE : labSequence.key(from - 1), keys);
    }
  }

  @Override
  public void cleared() {
    throw new IllegalStateException("this feed has no engines that stop");
  }
}
