package io.kvasir.enginemodel;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The host memory beside a {@link PagedCache}, as LMCache manages it: every computed prompt is also copied there, in
 * chunks of several blocks, and stays when the device needs its blocks for others. A chunk is stored under the key of
 * its last block, which proves everything before it, so only leading chunks without a hole can be loaded back.
 *
 * <p>The least recently used chunk is evicted first, and of one sequence the tail before its beginning, so that the
 * rest of a prompt can still be used. Unlike blocks of the device a chunk has one copy and no references. Not
 * thread-safe.
 */
public final class HostTier {
  private final int capacity;
  private final int blocksPerChunk;
  private final Listener listener;
  /** In the order of use, eldest first. */
  private final Map<Long, Boolean> chunks = new LinkedHashMap<>(16, 0.75f, true);

  /** A listener for changes, called in order on the thread that drives the tier. */
  public interface Listener {
    /** Called when chunk {@code chunk} (0-based) of {@code sequence} was copied, under {@code key}. */
    void copied(Sequence sequence, int chunk, long key);

    /** Called when the chunk under {@code key} was evicted. */
    void dropped(long key);
  }

  /** An empty tier for {@code capacity} chunks of {@code blocksPerChunk} blocks. */
  public HostTier(int capacity, int blocksPerChunk, Listener listener) {
    if (capacity < 1 || blocksPerChunk < 1) {
      throw new IllegalArgumentException("capacity and blocks per chunk must be at least 1");
    }
    this.capacity = capacity;
    this.blocksPerChunk = blocksPerChunk;
    this.listener = listener;
  }

  /** The number of chunks held. */
  public int size() {
    return chunks.size();
  }

  /** The number of leading full blocks of {@code sequence} in host memory; they count as used. */
  int hits(Sequence sequence, int blockSize) {
    int max = sequence.length() / (blocksPerChunk * blockSize);
    int hits = 0;
    while (hits < max && chunks.containsKey(key(sequence, hits))) {
      hits++;
    }
    touch(sequence, hits);
    return hits * blocksPerChunk;
  }

  /** Copies those of the first {@code blocks} full blocks of {@code sequence} that are not in host memory yet. */
  void copy(Sequence sequence, int blocks) {
    int full = Math.min(blocks / blocksPerChunk, capacity);
    touch(sequence, full); // so that the sequence's beginning is not evicted for its end
    for (int chunk = 0; chunk < full; chunk++) {
      long key = key(sequence, chunk);
      if (!chunks.containsKey(key)) {
        if (chunks.size() == capacity) {
          dropEldest();
        }
        chunks.put(key, Boolean.TRUE);
        listener.copied(sequence, chunk, key);
      }
    }
    touch(sequence, full);
  }

  private void touch(Sequence sequence, int leading) {
    for (int chunk = leading - 1; chunk >= 0; chunk--) {
      chunks.get(key(sequence, chunk));
    }
  }

  private void dropEldest() {
    Iterator<Long> eldestFirst = chunks.keySet().iterator();
    long eldest = eldestFirst.next();
    eldestFirst.remove();
    listener.dropped(eldest);
  }

  private long key(Sequence sequence, int chunk) {
    return sequence.key((chunk + 1) * blocksPerChunk - 1);
  }
}
