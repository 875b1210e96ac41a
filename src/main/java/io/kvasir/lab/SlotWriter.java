package io.kvasir.lab;

import io.kvasir.index.BlockHash;
import io.kvasir.index.BlockIndex;
import io.kvasir.index.Chain;
import io.kvasir.index.Tier;
import io.kvasir.index.WorkerBlocks;
import java.util.function.IntUnaryOperator;

/**
 * The writer of one worker's blocks to the index: its engine's events and the router's predictions. In the laboratory
 * an engine's keys are the blocks' hashes.
 */
final class SlotWriter {
  // As a cell predicts: for ten times as long as the prompts queued there should take, within bounds.
  private static final double EXPIRY_FACTOR = 10;
  private static final double MIN_EXPIRY_MS = 2_000;
  private static final double MAX_EXPIRY_MS = 300_000;

  private final WorkerBlocks blocks;
  private final boolean exact;

  private SlotWriter(WorkerBlocks blocks, boolean exact) {
    this.blocks = blocks;
    this.exact = exact;
  }

  /**
   * Opens the first {@code workers} slots, and returns their writers.
   *
   * @param mode whether engines have events; without them a worker is assumed to keep the prompts sent to it
   * @param capacity blocks the cache of each engine holds
   */
  static SlotWriter[] open(BlockIndex index, int workers, IndexMode mode, IntUnaryOperator capacity) {
    boolean exact = !(mode instanceof IndexMode.Approximate);
    SlotWriter[] writers = new SlotWriter[workers];
    for (int slot = 0; slot < workers; slot++) {
      writers[slot] = new SlotWriter(exact ? index.open(slot) : index.open(slot, capacity.applyAsInt(slot)), exact);
    }
    return writers;
  }

  /** Stores blocks that follow {@code parent} ({@link BlockHash#NONE} for a root); false when it is not held. */
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

  void removed(long[] keys, int count) {
    blocks.remove(keys, count, Tier.DEVICE, true);
  }

  /** Stores a block of host memory; does nothing when the one before it is not held. */
  void copiedToHost(long parent, long key) {
    boolean root = parent == BlockHash.NONE;
    if (root || holds(parent)) {
      long[] keys = {key};
      int _ = blocks.store(parent, root, keys, keys, 1, Tier.HOST, true);
    }
  }

  void droppedFromHost(long key) {
    blocks.remove(key, Tier.HOST, true);
  }

  boolean holds(long key) {
    return blocks.hashOf(key) != BlockHash.NONE;
  }

  void clear() {
    blocks.clear();
  }

  /** Predicts the blocks of a prompt just sent to the worker, which has {@code queueMs} of prefill queued before it. */
  void routed(Chain chain, double queueMs, double nowMs) {
    if (chain.length() > 0) {
      double expiryMs = Math.clamp(queueMs * EXPIRY_FACTOR, MIN_EXPIRY_MS, MAX_EXPIRY_MS);
      blocks.predict(chain.hashes(), exact ? (long) (nowMs + expiryMs) : Long.MAX_VALUE);
    }
  }

  /** Removes predictions that have expired. */
  void expire(double nowMs) {
    blocks.expire((long) nowMs);
  }
}
