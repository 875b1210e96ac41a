package io.kvasir.lab;

import io.kvasir.enginemodel.CacheListener;
import java.util.SplittableRandom;

/** The feed of engines' cache events into the router's index, in one of the {@link IndexMode}s. One thread. */
interface IndexFeed {
  /** The listener for the cache of the engine at {@code slot}. */
  CacheListener listener(int slot);

  /** Applies the events that are due by now; called before each decision. */
  default void catchUp(double nowMs) {}

  /** The feed of a mode. */
  static IndexFeed of(IndexMode mode, SlotWriter[] writers, LabClock clock, SplittableRandom random) {
    return switch (mode) {
      case IndexMode.Exact() -> new ExactFeed(writers);
      case IndexMode.Delayed(double ms) -> new DelayedFeed(writers, ms, clock);
      case IndexMode.Lossy(double share, double resyncMs) -> new LossyFeed(writers, share, resyncMs, clock, random);
      case IndexMode.Approximate() -> new DiscardingFeed();
    };
  }
}
