package io.kvasir.enginemodel;

import java.util.Arrays;

/**
 * What a group of a hybrid model holds and caches, in blocks of the pool that the prefix has, as vLLM's {@code
 * v1/core/single_type_kv_cache_manager.py} does. Not thread-safe.
 */
abstract sealed class GroupCache permits WindowCache, StateCache {
  final int blockSize;
  final BlockPool pool;
  private final int number;
  private final int needed;
  private final GroupListener listener;

  /**
   * An empty one.
   *
   * @param needed blocks before a place that it needs to go on from there
   */
  GroupCache(int number, int blockSize, int needed, BlockPool pool, GroupListener listener) {
    this.number = number;
    this.blockSize = blockSize;
    this.needed = needed;
    this.pool = pool;
    this.listener = listener;
  }

  static GroupCache of(CacheGroup group, int number, int blockSize, BlockPool pool, GroupListener listener) {
    return switch (group) {
      case CacheGroup.SlidingWindow(int window) -> new WindowCache(window, number, blockSize, pool, listener);
      case CacheGroup.State() -> new StateCache(number, blockSize, pool, listener);
    };
  }

  /** Blocks that are not seen any more after {@code tokens}. */
  abstract int unseen(int tokens);

  /** Blocks that a sequence with {@code held} places takes for its first {@code required}. */
  abstract int more(int required, int held);

  /** Takes them, of which there are some. */
  abstract void extend(HeldBlocks held, int required);

  void beginStep() {}

  /** Whether what {@code hits} blocks need here is computed in the iteration that is being planned. */
  boolean isBeingMade(Sequence sequence, int hits) {
    return false;
  }

  /** How many of {@code most} tokens an iteration may compute. */
  int chunk(Sequence sequence, int computed, int most, int budget) {
    return most;
  }

  /** Called for each block that is cached. */
  void cached(long key) {}

  final int find(long key) {
    return pool.find(number, key);
  }

  /** The longest beginning of {@code sequence}, of {@code most} blocks at most, from whose end it can go on. */
  final int boundary(Sequence sequence, int most) {
    int run = 0;
    int end = most;
    for (int i = most - 1; i >= 0 && run < needed; i--) {
      if (find(sequence.key(i)) == BlockPool.NONE) {
        run = 0;
        end = i;
      } else {
        run++;
      }
    }
    return end;
  }

  /** Free blocks that the admission of a sequence takes. */
  final int needed(Sequence sequence, int hits, int tokens) {
    int idle = 0;
    for (int i = unseen(hits * blockSize); i < hits; i++) {
      idle += pool.references(find(sequence.key(i))) == 0 ? 1 : 0;
    }
    return idle + more(blocksFor(tokens), hits);
  }

  /** Gives a sequence without blocks what it goes on from. */
  final void adopt(Sequence sequence, int hits) {
    HeldBlocks held = of(sequence);
    int unseen = unseen(hits * blockSize);
    held.pad(unseen);
    held.unseen = unseen;
    for (int i = unseen; i < hits; i++) {
      int block = find(sequence.key(i));
      pool.hold(block);
      held.add(block);
    }
    held.keyed = hits;
  }

  /** Blocks that a sequence has to take for its first {@code tokens}. */
  final int missing(Sequence sequence, int tokens) {
    return more(blocksFor(tokens), of(sequence).count);
  }

  final void take(Sequence sequence, int tokens) {
    HeldBlocks held = of(sequence);
    int required = blocksFor(tokens);
    if (required > held.count) {
      extend(held, required);
    }
  }

  final void take(int more, HeldBlocks held) {
    held.makeRoom(more);
    pool.take(more, held.blocks, held.count);
    held.count += more;
  }

  /** Releases what a sequence does not see any more, of what has been computed. */
  final void releaseUnseen(Sequence sequence) {
    HeldBlocks held = of(sequence);
    int unseen = Math.min(unseen(sequence.computed), held.count);
    for (int i = unseen - 1; i >= held.unseen; i--) {
      if (held.get(i) != HeldBlocks.NONE) {
        pool.release(held.get(i));
        held.set(i, HeldBlocks.NONE);
      }
    }
    held.unseen = Math.max(unseen, held.unseen);
  }

  /** Caches those of the first {@code full} blocks that are kept. */
  final void makeFindable(Sequence sequence, int full) {
    HeldBlocks held = of(sequence);
    int from = held.keyed;
    if (full <= from) {
      return;
    }
    int lastOfPrompt = (sequence.promptLength() - 1) / blockSize;
    int[] kept = new int[full - from];
    int count = 0;
    for (int i = from; i < full; i++) {
      if (held.get(i) != HeldBlocks.NONE && (leadsTo(lastOfPrompt, i) || leadsTo(sequence.sharedBlocks, i))) {
        pool.index(held.get(i), number, sequence.key(i));
        cached(sequence.key(i));
        kept[count++] = i;
      }
    }
    held.keyed = full;
    listener.stored(number, sequence, from, full, Arrays.copyOf(kept, count));
  }

  private boolean leadsTo(int end, int block) {
    return block < end && block >= end - needed;
  }

  final void release(Sequence sequence) {
    HeldBlocks held = of(sequence);
    for (int i = held.count - 1; i >= 0; i--) {
      if (held.get(i) != HeldBlocks.NONE) {
        pool.release(held.get(i));
      }
    }
    held.clear();
  }

  private HeldBlocks of(Sequence sequence) {
    if (sequence.groups.length < number) {
      int before = sequence.groups.length;
      sequence.groups = Arrays.copyOf(sequence.groups, number);
      for (int i = before; i < number; i++) {
        sequence.groups[i] = new HeldBlocks();
      }
    }
    return sequence.groups[number - 1];
  }

  private int blocksFor(int tokens) {
    return (tokens + blockSize - 1) / blockSize;
  }
}
