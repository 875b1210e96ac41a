package io.kvasir.sim.lab;

import io.kvasir.index.BlockIndex;
import io.kvasir.sim.engine.CacheListener;
import io.kvasir.sim.engine.EngineModel;
import java.util.SplittableRandom;

/** Tells the router's index what the engines have cached, in one of the {@link IndexMode}s. One thread's. */
interface IndexFeed {
  /** Who hears what changes in the cache of the engine at {@code slot}. */
  CacheListener listener(int slot);

  /** A request has just been sent to the engine at {@code slot}. */
  default void routed(int index, int slot, LabRequest request) {}

  /** Brings the index to what the router would know now; called before each decision. */
  default void catchUp(double nowMs) {}

  /** A feed for the first {@code workers} slots of an index, which it opens. */
  static IndexFeed of(
      IndexMode mode, BlockIndex index, int workers, EngineModel engine, int blockSize, SimClock clock,
      SplittableRandom random) {
    return switch (mode) {
      case IndexMode.Exact() -> new ExactFeed(index, workers);
      case IndexMode.Delayed(double ms) -> new DelayedFeed(index, workers, ms, clock);
      case IndexMode.Lossy(double share, double resyncMs) ->
          new LossyFeed(index, workers, share, resyncMs, clock, random);
      case IndexMode.Approximate() -> new ApproximateFeed(index, workers, engine, blockSize);
    };
  }
}
