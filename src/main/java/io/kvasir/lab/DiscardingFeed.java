package io.kvasir.lab;

import io.kvasir.enginemodel.CacheListener;
import io.kvasir.enginemodel.Sequence;

/** A feed that discards all events, for engines without any. */
final class DiscardingFeed implements IndexFeed {
  private static final CacheListener DISCARD =
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
    return DISCARD;
  }
}
