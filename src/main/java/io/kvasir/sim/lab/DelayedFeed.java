package io.kvasir.sim.lab;

import io.kvasir.sim.engine.CacheListener;
import java.util.ArrayDeque;
import java.util.Queue;

/** Applies every event some time after the engine made it: lazily, before the next decision that could see it. */
final class DelayedFeed implements IndexFeed {
  private final SlotWriter[] writers;
  private final double delayMs;
  private final SimClock clock;
  private final Queue<Event> underway = new ArrayDeque<>();

  private record Event(double atMs, Runnable change) {}

  DelayedFeed(SlotWriter[] writers, double delayMs, SimClock clock) {
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
        later(
            () -> {
              if (!writer.stored(parent, keys)) {
                throw new IllegalStateException("an engine stored blocks after one it does not have");
              }
            });
      }

      @Override
      public void removed(long key) {
        later(() -> writer.removed(key));
      }
    };
  }

  private void later(Runnable change) {
    underway.add(new Event(clock.nowMs + delayMs, change));
  }

  @Override
  public void catchUp(double nowMs) {
    while (!underway.isEmpty() && underway.element().atMs <= nowMs) {
      underway.remove().change.run();
    }
  }
}
