package io.kvasir.cell.events;

import io.kvasir.events.KvEvent.Stored;
import io.kvasir.index.BlockHash;
import io.kvasir.index.Chain;
import java.util.List;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The chunks that a cache beside a worker's engine was reported to hold. An LMCache connector reports the chunks that
 * it stores, under keys of its own and longer than the engine's blocks, and never those that it removes: such a report
 * is a hint where a prompt may be, no proof, and does not belong into the index.
 *
 * <p>Memory is fixed: {@value #PLACES} chunks (384 KiB with what joins their keys), in buckets of {@value #BUCKET}
 * where the oldest gives way. A chunk is known by the chain hash at its end, which stands for everything before it,
 * too. One thread writes; any thread reads, without waiting, and may miss a chunk that is being moved in its bucket.
 */
public final class ChunkHints {
  private static final int PLACES = 1 << 14;
  private static final int BUCKET = 8;
  private static final long PHI = 0x9E3779B97F4A7C15L;
  private static final int BITS = Integer.numberOfTrailingZeros(PLACES / BUCKET);

  private final AtomicLongArray held = new AtomicLongArray(PLACES);
  private final long[] keys = new long[PLACES];
  private final long[] ends = new long[PLACES];
  private final EventHashing hashing = new EventHashing();

  /** Blocks in a chunk, 0 before there was one. */
  private volatile int chunkBlocks;

  /**
   * Takes note of stored chunks. Chunks that are not cut where the engine's blocks are, and those whose parent is not
   * known, are left out.
   */
  void stored(Stored stored, int blockSize) {
    if (stored.blockSize() % blockSize != 0 || stored.blockSize() < blockSize) {
      return;
    }
    long parent = stored.root() ? BlockHash.NONE : end(stored.parentKey());
    if (parent == BlockHash.NONE && !stored.root()) {
      return;
    }
    int perChunk = stored.blockSize() / blockSize;
    int blocks = stored.keys().length * perChunk;
    long[] hashes = new long[blocks];
    hashing.chain(inBlocks(stored, blockSize), blocks, parent, EventHashing.salt(stored), hashes);
    for (int i = 0; i < stored.keys().length; i++) {
      long end = hashes[(i + 1) * perChunk - 1];
      join(stored.keys()[i], end);
      hold(end);
    }
    chunkBlocks = perChunk;
  }

  /** Forgets chunks, should the connector ever report them removed. */
  void removed(long[] removedKeys) {
    for (long key : removedKeys) {
      long end = end(key);
      for (int place = bucket(end); place < bucket(end) + BUCKET; place++) {
        held.compareAndSet(place, end, BlockHash.NONE);
      }
    }
  }

  /** How many leading blocks of a chain may be there, in whole chunks. */
  public int depth(Chain chain) {
    int step = chunkBlocks;
    if (step == 0) {
      return 0;
    }
    int depth = 0;
    while (depth + step <= chain.length() && holds(chain.hashes()[depth + step - 1])) {
      depth += step;
    }
    return depth;
  }

  private static Stored inBlocks(Stored stored, int blockSize) {
    return new Stored(
        stored.root(), stored.parentKey(), stored.keys(), stored.tokens(), blockSize, stored.tier(), stored.lora(),
        stored.cacheSalt(), stored.group(), stored.spec(), List.of());
  }

  private static int bucket(long of) {
    return (int) ((of * PHI) >>> (Long.SIZE - BITS)) * BUCKET;
  }

  private boolean holds(long end) {
    int from = bucket(end);
    for (int place = from; place < from + BUCKET; place++) {
      if (held.getOpaque(place) == end) {
        return true;
      }
    }
    return false;
  }

  private void hold(long end) {
    if (!holds(end)) {
      int from = bucket(end);
      for (int place = from + BUCKET - 1; place > from; place--) {
        held.setOpaque(place, held.getOpaque(place - 1));
      }
      held.setOpaque(from, end);
    }
  }

  private void join(long key, long end) {
    int from = bucket(key);
    int place = from;
    while (place < from + BUCKET - 1 && keys[place] != key) {
      place++;
    }
    System.arraycopy(keys, from, keys, from + 1, place - from);
    System.arraycopy(ends, from, ends, from + 1, place - from);
    keys[from] = key;
    ends[from] = end;
  }

  /** The chain hash at a chunk's end, none when the chunk is not known. */
  private long end(long key) {
    int from = bucket(key);
    for (int place = from; place < from + BUCKET; place++) {
      if (keys[place] == key && ends[place] != BlockHash.NONE) {
        return ends[place];
      }
    }
    return BlockHash.NONE;
  }
}
