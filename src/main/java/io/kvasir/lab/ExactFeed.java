package io.kvasir.lab;

import io.kvasir.enginemodel.CacheListener;

/** A feed that applies every event at once. */
final class ExactFeed implements IndexFeed {
  private final SlotWriter[] writers;

  ExactFeed(SlotWriter[] writers) {
    this.writers = writers;
  }

  @Override
  public CacheListener listener(int slot) {
    return new BlockEvents() {
      @Override
      void stored(long parent, long[] keys) {
        if (!writers[slot].stored(parent, keys)) {
          throw new IllegalStateException("an engine stored blocks after one it does not have");
        }
      }

      @Override
      public void removed(long key) {
        writers[slot].removed(key);
      }

      @Override
      public void removed(long[] keys, int count) {
        writers[slot].removed(keys, count);
      }

      @Override
      public void cleared() {
        writers[slot].clear();
      }
    };
  }
}
