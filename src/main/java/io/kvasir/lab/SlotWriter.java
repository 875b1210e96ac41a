package io.kvasir.lab;

import io.kvasir.index.BlockHash;
import io.kvasir.index.BlockIndex;
import io.kvasir.index.Chain;
import io.kvasir.index.Tier;
import io.kvasir.index.WorkerBlocks;

/**
 * One worker's writer to the index: what its engine tells and what the router predicts of it. In the
 * laboratory an engine's keys are the blocks' hashes.
 */
final class SlotWriter {
  // As a cell predicts: for ten times as long as the prompts queued there should take, within bounds.
  private static final double EXPIRY_FACTOR = 10;
  private static final double LEAST_EXPIRY_MS = 2_000;
  private static final double MOST_EXPIRY_MS = 300_000;

  private final WorkerBlocks blocks;
  private final boolean exact;

  private SlotWriter(WorkerBlocks blocks, boolean told) {
    this.blocks = blocks;
    this.exact = told;
  }

  /**
   * Writers of the first {@code workers} slots, which this opens.
   *
   * @param mode whether engines tell anything; if not, a worker is believed to keep what it was sent
   * @param capacity blocks an engine's cache holds
   */
  static SlotWriter[] open(BlockIndex index, int workers, IndexMode mode, int capacity) {
    boolean told = !(mode instanceof IndexMode.Approximate);
    SlotWriter[] writers = new SlotWriter[workers];
    for (int slot = 0; slot < workers; slot++) {
      writers[slot] = new SlotWriter(told ? index.open(slot) : index.open(slot, capacity), told);
    }
    return writers;
  }

  /** Blocks that follow {@code parent} ({@link BlockHash#NONE} for a root); false when the parent is not known. */
  boolean stored(long parent, long[] keys) {
    boolean root = parent == BlockHash.NONE;
    if (!root && !holds(parent)) {
      return false;
    }
    int registered = blocks.store(parent, root, keys, keys, keys.length, Tier.DEVICE, true);
    if (registered < keys.length) {
      throw new IllegalStateException("the laboratory's index is full: use larger blocks or fewer workers");
    }
    return true;
  }

  void removed(long key) {
    blocks.remove(key, Tier.DEVICE, true);
  }

  boolean holds(long key) {
    return blocks.hashOf(key) != BlockHash.NONE;
  }

  void clear() {
    blocks.clear();
  }

  /** A prompt has just been sent to the worker, before which {@code queueMs} of prefill are queued. */
  void routed(Chain chain, double queueMs, double nowMs) {
    if (chain.length() > 0) {
      double lastsMs = Math.clamp(queueMs * EXPIRY_FACTOR, LEAST_EXPIRY_MS, MOST_EXPIRY_MS);
      blocks.predict(chain.hashes(), exact ? (long) (nowMs + lastsMs) : Long.MAX_VALUE);
    }
  }

  /** Forgets predictions whose time is over. */
  void expire(double nowMs) {
    blocks.expire((long) nowMs);
  }
}
