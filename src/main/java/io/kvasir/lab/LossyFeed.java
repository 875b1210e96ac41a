package io.kvasir.lab;

import io.kvasir.enginemodel.CacheListener;
import io.kvasir.index.BlockHash;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * A feed that loses a share of the batches (an engine sends one per iteration). Lost blocks, and blocks after them, are
 * not indexed until the worker is resynchronised: the state of a router without replay.
 */
final class LossyFeed implements IndexFeed {
  private final SlotWriter[] writers;
  private final ActualBlocks[] actual;
  private final double share;
  private final double resyncMs;
  private final LabClock clock;
  private final SplittableRandom random;
  private double nextResyncMs;

  LossyFeed(SlotWriter[] writers, double share, double resyncMs, LabClock clock, SplittableRandom random) {
    this.writers = writers;
    this.actual = new ActualBlocks[writers.length];
    for (int slot = 0; slot < writers.length; slot++) {
      actual[slot] = new ActualBlocks();
    }
    this.share = share;
    this.resyncMs = resyncMs;
    this.nextResyncMs = resyncMs;
    this.clock = clock;
    this.random = random;
  }

  @Override
  public CacheListener listener(int slot) {
    return new BlockEvents() {
      private double batchMs = -1;
      private boolean lost;

      @Override
      void stored(long parent, long[] keys) {
        actual[slot].stored(parent, keys);
        if (!lost()) {
          writers[slot].stored(parent, keys);
        }
      }

      @Override
      public void removed(long key) {
        actual[slot].removed(key);
        if (!lost()) {
          writers[slot].removed(key);
        }
      }

      private boolean lost() {
        if (clock.nowMs != batchMs) {
          batchMs = clock.nowMs;
          lost = random.nextDouble() < share;
        }
        return lost;
      }
    };
  }

  @Override
  public void catchUp(double nowMs) {
    while (nextResyncMs <= nowMs) {
      for (int slot = 0; slot < writers.length; slot++) {
        writers[slot].clear();
        actual[slot].writeTo(writers[slot]);
      }
      nextResyncMs += resyncMs;
    }
  }

  /** The blocks that one engine has cached: each key with its parent and copies. */
  private static final class ActualBlocks {
    private final Map<Long, CachedBlock> held = new HashMap<>();

    private record CachedBlock(long parent, int copies) {}

    void stored(long parent, long[] keys) {
      long before = parent;
      for (long key : keys) {
        long after = before;
        held.compute(key, (_, known) -> new CachedBlock(after, known == null ? 1 : known.copies + 1));
        before = key;
      }
    }

    void removed(long key) {
      held.computeIfPresent(
          key, (_, known) -> known.copies == 1 ? null : new CachedBlock(known.parent, known.copies - 1));
    }

    /** Stores all blocks, parents before their children; a block whose parent is not cached becomes a root. */
    void writeTo(SlotWriter writer) {
      Deque<Long> ancestors = new ArrayDeque<>();
      for (long key : held.keySet()) {
        for (long at = key; held.containsKey(at) && !writer.holds(at); at = parent(at)) {
          ancestors.push(at);
        }
        while (!ancestors.isEmpty()) {
          long next = ancestors.pop();
          long parent = parent(next);
          long[] copies = {next};
          for (int copy = copies(next); copy > 0; copy--) {
            writer.stored(held.containsKey(parent) ? parent : BlockHash.NONE, copies);
          }
        }
      }
    }

    private long parent(long key) {
      CachedBlock known = held.get(key);
      return known == null ? BlockHash.NONE : known.parent;
    }

    private int copies(long key) {
      CachedBlock known = held.get(key);
      return known == null ? 0 : known.copies;
    }
  }
}
