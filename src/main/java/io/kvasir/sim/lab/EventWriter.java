package io.kvasir.sim.lab;

import io.kvasir.index.BlockHash;
import io.kvasir.index.BlockIndex;
import io.kvasir.index.Tier;
import io.kvasir.index.WorkerBlocks;

/** One worker's writer to the index. In the laboratory an engine's keys are the blocks' hashes. */
final class EventWriter {
  private final WorkerBlocks blocks;

  EventWriter(BlockIndex index, int slot) {
    this.blocks = index.open(slot);
  }

  static EventWriter[] open(BlockIndex index, int workers) {
    EventWriter[] writers = new EventWriter[workers];
    for (int slot = 0; slot < workers; slot++) {
      writers[slot] = new EventWriter(index, slot);
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
}
