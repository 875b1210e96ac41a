package io.kvasir.sim.lab;

import io.kvasir.sim.engine.CacheListener;
import io.kvasir.sim.engine.Sequence;

/** Tells the index nothing. */
final class SilentFeed implements IndexFeed {
  private static final CacheListener NOBODY =
      new CacheListener() {
        @Override
        public void stored(Sequence sequence, int from, int to) {}

        @Override
        public void removed(long key) {}

        @Override
        public void cleared() {}
      };

  @Override
  public CacheListener listener(int slot) {
    return NOBODY;
  }
}
