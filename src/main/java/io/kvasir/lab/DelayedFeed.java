package io.kvasir.lab;

import io.kvasir.enginemodel.CacheListener;
import java.util.ArrayDeque;
import java.util.Queue;

/** A feed that applies every event after a delay: lazily, before the next decision that could see it. */
final class DelayedFeed implements IndexFeed {
  private final SlotWriter[] writers;
  private final double delayMs;
  private final LabClock clock;
  private final Queue<DelayedChange> pending = new ArrayDeque<>();

  private record DelayedChange(double atMs, Runnable change) {}

  DelayedFeed(SlotWriter[] writers, double delayMs, LabClock clock) {
    this.writers = writers;
    this.delayMs = delayMs;
    this.clock = clock;
  }

  @Override
  public CacheListener listener(int slot) {
    SlotWriter writer = writers[slot];
    return new BlockEvents() {
      @Override
      void stored(long parent, long[] keys) {
        schedule(
            () -> {
              if (!writer.stored(parent, keys)) {
                throw new IllegalStateException("an engine stored blocks after one it does not have");
              }
            });
      }

      @Override
      public void removed(long key) {
        schedule(() -> writer.removed(key));
      }
    };
  }

  private void schedule(Runnable change) {
    pending.add(new DelayedChange(clock.nowMs + delayMs, change));
  }

  @Override
  public void catchUp(double nowMs) {
    while (!pending.isEmpty() && pending.element().atMs <= nowMs) {
      pending.remove().change.run();
    }
  }
}
