package io.kvasir.lab.engine;

import java.util.Arrays;

/**
 * The KV cache of an engine: paged, prefix-shared blocks with reference counts, as vLLM's block pool has them (vLLM
 * {@code v1/core/block_pool.py}, {@code kv_cache_manager.py}).
 *
 * <p>A block is held (references &gt; 0) or free. A free block may still be <em>cached</em>: its content is found under
 * its key until the block is allocated again. Free blocks form one queue, allocated from the front. Cached blocks of a
 * finished sequence go to the back, last block first, so that the tail of the least recently used sequence is evicted
 * first and a prefix outlives its continuation; blocks without cached content go to the front, so that they are used up
 * before anything is evicted (as recorded from vLLM 0.32). Only full blocks are cached. Equal blocks computed by two
 * sequences at once are two copies under one key, stored and evicted one by one, as in vLLM. At least one token of a
 * sequence is always left to compute.
 *
 * <p>Everything is an array indexed by block: the free queue is an intrusive list (no allocation, any
 * block can leave its middle), the key table a chained hash whose links are the blocks themselves.
 * Not thread-safe.
 */
public final class PagedCache {
  private static final int NONE = -1;

  private final int blockSize;
  private final int capacity;
  private final CacheListener listener;
  private final int[] references;
  private final long[] keys;
  private final boolean[] cached;
  /** Free queue: neighbours of each free block; entry {@code capacity} is head and tail. */
  private final int[] before;
  private final int[] after;
  /** Key table: first block of each bucket, next block with the same bucket. */
  private final int[] buckets;
  private final int[] sameBucket;
  /** The keys of blocks that are evicted together. */
  private long[] evicted = new long[64];

  private int free;

  /** An empty cache of {@code capacity} blocks of {@code blockSize} tokens. */
  public PagedCache(int capacity, int blockSize, CacheListener listener) {
    if (capacity < 1 || blockSize < 1) {
      throw new IllegalArgumentException("capacity and block size must be at least 1");
    }
    this.capacity = capacity;
    this.blockSize = blockSize;
    this.listener = listener;
    this.references = new int[capacity];
    this.keys = new long[capacity];
    this.cached = new boolean[capacity];
    this.before = new int[capacity + 1];
    this.after = new int[capacity + 1];
    this.buckets = new int[Integer.highestOneBit(Math.max(2, capacity)) * 2];
    this.sameBucket = new int[capacity];
    Arrays.fill(buckets, NONE);
    before[capacity] = capacity;
    after[capacity] = capacity;
    for (int block = 0; block < capacity; block++) {
      enqueue(block);
    }
  }

  /** The number of tokens in a block. */
  public int blockSize() {
    return blockSize;
  }

  /** The number of blocks. */
  public int capacity() {
    return capacity;
  }

  /** The number of blocks that no sequence holds, cached or not. */
  public int free() {
    return free;
  }

  /** The number of leading full blocks of {@code sequence} that are cached; at least one token is left to compute. */
  int hits(Sequence sequence) {
    int max = (sequence.length() - 1) / blockSize;
    int hits = 0;
    while (hits < max && find(sequence.key(hits)) != NONE) {
      hits++;
    }
    return hits;
  }

  /**
   * Admits {@code sequence}, which holds no blocks yet: it gets its first {@code hits} blocks from the cache and new
   * ones up to {@code tokens} tokens.
   *
   * @return false, with nothing changed, when too few blocks are free
   */
  boolean admit(Sequence sequence, int hits, int tokens) {
    boolean admitted = reserve(sequence, hits, tokens);
    if (admitted) {
      makeFindable(sequence, tokens);
    }
    return admitted;
  }

  /** As {@link #admit}, but new blocks are not cached before {@link #makeFindable}. */
  boolean reserve(Sequence sequence, int hits, int tokens) {
    int idle = 0;
    for (int i = 0; i < hits; i++) {
      if (references[find(sequence.key(i))] == 0) {
        idle++;
      }
    }
    if (blocksFor(tokens) - hits + idle > free) {
      return false;
    }
    for (int i = 0; i < hits; i++) {
      int block = find(sequence.key(i));
      if (references[block]++ == 0) {
        unqueue(block);
      }
      sequence.hold(block);
    }
    sequence.keyed = hits;
    take(sequence, tokens);
    return true;
  }

  /** Caches the full blocks of the first {@code tokens} tokens of a sequence, which are in its blocks. */
  void makeFindable(Sequence sequence, int tokens) {
    int full = tokens / blockSize;
    int from = sequence.keyed;
    if (full > from) {
      for (int i = from; i < full; i++) {
        index(sequence.blocks[i], sequence.key(i));
      }
      sequence.keyed = full;
      listener.stored(sequence, from, full);
    }
  }

  /**
   * Allocates blocks to a sequence for its first {@code tokens} tokens.
   *
   * @return false, with nothing changed, when too few blocks are free
   */
  boolean extend(Sequence sequence, int tokens) {
    if (blocksFor(tokens) - sequence.blockCount > free) {
      return false;
    }
    take(sequence, tokens);
    makeFindable(sequence, tokens);
    return true;
  }

  /** How many tokens beyond its first {@code tokens} a sequence has room for in its blocks before it fills one. */
  int plainTokens(Sequence sequence, int tokens) {
    int held = sequence.blockCount * blockSize;
    int fills = (sequence.keyed + 1) * blockSize - 1;
    return Math.min(held, fills) - tokens;
  }

  /** Releases all blocks of {@code sequence}; cached ones can still be found. Idempotent. */
  void release(Sequence sequence) {
    for (int i = sequence.blockCount - 1; i >= 0; i--) {
      int block = sequence.blocks[i];
      if (--references[block] == 0) {
        enqueue(block);
      }
    }
    sequence.blockCount = 0;
    sequence.keyed = 0;
    sequence.computed = 0;
  }

  /** Removes all content; refused, as by vLLM, while a sequence holds a block. */
  public boolean clear() {
    if (free != capacity) {
      return false;
    }
    Arrays.fill(buckets, NONE);
    Arrays.fill(cached, false);
    listener.cleared();
    return true;
  }

  /** The number of sequences that hold {@code block}. */
  int references(int block) {
    return references[block];
  }

  private int blocksFor(int tokens) {
    return (tokens + blockSize - 1) / blockSize;
  }

  private void take(Sequence sequence, int tokens) {
    int evictions = 0;
    for (int missing = blocksFor(tokens) - sequence.blockCount; missing > 0; missing--) {
      int block = after[capacity];
      unqueue(block);
      if (cached[block]) {
        unindex(block);
        if (evictions == evicted.length) {
          evicted = Arrays.copyOf(evicted, evictions * 2);
        }
        evicted[evictions++] = keys[block];
      }
      references[block] = 1;
      sequence.hold(block);
    }
    if (evictions > 0) {
      listener.removed(evicted, evictions);
    }
  }

  /** Queues a free block: a cached one at the back, another one at the front. */
  private void enqueue(int block) {
    int previous = cached[block] ? before[capacity] : capacity;
    int next = after[previous];
    before[block] = previous;
    after[block] = next;
    after[previous] = block;
    before[next] = block;
    free++;
  }

  private void unqueue(int block) {
    after[before[block]] = after[block];
    before[after[block]] = before[block];
    free--;
  }

  private int bucket(long key) {
    return (int) ((key * 0x9E3779B97F4A7C15L) >>> 32) & (buckets.length - 1);
  }

  private int find(long key) {
    int block = buckets[bucket(key)];
    while (block != NONE && keys[block] != key) {
      block = sameBucket[block];
    }
    return block;
  }

  /** Adds a copy behind the older ones: the oldest copy is the one that is shared. */
  private void index(int block, long key) {
    keys[block] = key;
    cached[block] = true;
    sameBucket[block] = NONE;
    int bucket = bucket(key);
    int at = buckets[bucket];
    if (at == NONE) {
      buckets[bucket] = block;
      return;
    }
    while (sameBucket[at] != NONE) {
      at = sameBucket[at];
    }
    sameBucket[at] = block;
  }

  private void unindex(int block) {
    cached[block] = false;
    int bucket = bucket(keys[block]);
    if (buckets[bucket] == block) {
      buckets[bucket] = sameBucket[block];
      return;
    }
    int at = buckets[bucket];
    while (sameBucket[at] != block) {
      at = sameBucket[at];
    }
    sameBucket[at] = sameBucket[block];
  }
}
