package io.kvasir.lab;

import io.kvasir.lab.engine.CacheListener;
import java.util.SplittableRandom;

/** Tells the router's index what the engines have cached, in one of the {@link IndexMode}s. One thread's. */
interface IndexFeed {
  /** Who hears what changes in the cache of the engine at {@code slot}. */
  CacheListener listener(int slot);

  /** Brings the index to what the router would know now; called before each decision. */
  default void catchUp(double nowMs) {}

  /** A feed of the workers' blocks. */
  static IndexFeed of(IndexMode mode, SlotWriter[] writers, LabClock clock, SplittableRandom random) {
    return switch (mode) {
      case IndexMode.Exact() -> new ExactFeed(writers);
      case IndexMode.Delayed(double ms) -> new DelayedFeed(writers, ms, clock);
      case IndexMode.Lossy(double share, double resyncMs) -> new LossyFeed(writers, share, resyncMs, clock, random);
      case IndexMode.Approximate() -> new DiscardingFeed();
    };
  }
}
