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
 * <p>Everything of a block stands side by side in one array, so that what the laboratory does most, to look a block up,
 * to take it or to release it, waits for memory once, and blocks that are taken together wait together. The key table
 * is a chained hash whose links are the blocks themselves. Not thread-safe.
 */
public final class PagedCache {
  private static final int NONE = -1;

  // What a block has, and where, from its first place on.

  /** Twice how many sequences hold it, and one more while it is in the key table, under its key. */
  private static final int USES = 0;

  private static final int CACHED = 1;
  private static final int REFERENCE = 2;

  /** The next block with the same bucket in the key table. */
  private static final int SAME_BUCKET = 1;

  private static final int KEY_HIGH = 2;
  private static final int KEY_LOW = 3;

  /** Four blocks to a line of the processor's cache. */
  private static final int PLACES_LOG2 = 2;

  /** As many blocks as stay in the processor's first cache with their buckets. */
  private static final int MAX_TOUCHED = 128;

  private static final int MAX_CAPACITY = (Integer.MAX_VALUE >>> PLACES_LOG2) - 2;

  private final int blockSize;
  private final int capacity;
  private final CacheListener listener;
  private final int[] blocks;
  /** Key table: first block of each bucket. */
  private final int[] buckets;
  /** The keys of blocks that are evicted together. */
  private long[] evicted = new long[64];

  private final FreeQueue free;

  /** The blocks that are to be taken next. */
  private final int[] next = new int[MAX_TOUCHED];

  @SuppressWarnings("UnusedVariable")
  private int touched;

  /** An empty cache of {@code capacity} blocks of {@code blockSize} tokens. */
  public PagedCache(int capacity, int blockSize, CacheListener listener) {
    if (capacity < 1 || capacity > MAX_CAPACITY || blockSize < 1) {
      throw new IllegalArgumentException(
          "capacity and block size must be at least 1, and capacity at most " + MAX_CAPACITY + ", not " + capacity
              + " blocks of " + blockSize);
    }
    this.capacity = capacity;
    this.blockSize = blockSize;
    this.listener = listener;
    this.blocks = new int[capacity << PLACES_LOG2];
    this.free = new FreeQueue(capacity);
    this.buckets = new int[Integer.highestOneBit(Math.max(2, capacity)) * 4];
    Arrays.fill(buckets, NONE);
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
    return free.size();
  }

  /** The number of leading keys whose blocks are cached; they do not count as used. */
  public int held(long[] keys) {
    int held = 0;
    while (held < keys.length && find(keys[held]) != NONE) {
      held++;
    }
    return held;
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
      int block = find(sequence.key(i));
      sequence.hold(block);
      idle += references(block) == 0 ? 1 : 0;
    }
    if (blocksFor(tokens) - hits + idle > free.size()) {
      sequence.blockCount = 0;
      return false;
    }
    for (int i = 0; i < hits; i++) {
      int block = sequence.blocks[i];
      if (references(block) == 0) {
        free.remove(block);
      }
      add(block, USES, REFERENCE);
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
    if (blocksFor(tokens) - sequence.blockCount > free.size()) {
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
      int uses = add(block, USES, -REFERENCE);
      if (uses == CACHED) {
        free.addLast(block);
      } else if (uses == 0) {
        free.addFirst(block);
      }
    }
    sequence.blockCount = 0;
    sequence.keyed = 0;
    sequence.computed = 0;
  }

  /** Removes all content; refused, as by vLLM, while a sequence holds a block. */
  public boolean clear() {
    if (free.size() != capacity) {
      return false;
    }
    Arrays.fill(buckets, NONE);
    for (int block = 0; block < capacity; block++) {
      set(block, USES, 0);
    }
    listener.cleared();
    return true;
  }

  /** The number of sequences that hold {@code block}. */
  int references(int block) {
    return get(block, USES) >> 1;
  }

  private int blocksFor(int tokens) {
    return (tokens + blockSize - 1) / blockSize;
  }

  private void take(Sequence sequence, int tokens) {
    int evictions = 0;
    int wanted = blocksFor(tokens) - sequence.blockCount;
    touched = wanted > 1 ? touch(Math.min(wanted, MAX_TOUCHED)) : 0;
    for (int missing = wanted; missing > 0; missing--) {
      int block = free.removeFirst();
      if (get(block, USES) == CACHED) {
        unindex(block);
        if (evictions == evicted.length) {
          evicted = Arrays.copyOf(evicted, evictions * 2);
        }
        evicted[evictions++] = key(block);
      }
      set(block, USES, REFERENCE);
      sequence.hold(block);
    }
    if (evictions > 0) {
      listener.removed(evicted, evictions);
    }
  }

  /**
   * Reads the first {@code count} blocks in the queue and their buckets, before each is looked for there: so these
   * reads wait for memory together.
   */
  private int touch(int count) {
    int seen = 0;
    int found = free.first(count, next);
    for (int i = 0; i < found; i++) {
      seen += buckets[bucket(key(next[i]))];
    }
    return seen;
  }

  private int bucket(long key) {
    return (int) ((key * 0x9E3779B97F4A7C15L) >>> 32) & (buckets.length - 1);
  }

  private int find(long key) {
    int block = buckets[bucket(key)];
    while (block != NONE && key(block) != key) {
      block = get(block, SAME_BUCKET);
    }
    return block;
  }

  /** Adds a copy behind the older ones: the oldest copy is the one that is shared. */
  private void index(int block, long key) {
    set(block, KEY_HIGH, (int) (key >>> Integer.SIZE));
    set(block, KEY_LOW, (int) key);
    add(block, USES, CACHED);
    set(block, SAME_BUCKET, NONE);
    int bucket = bucket(key);
    int at = buckets[bucket];
    if (at == NONE) {
      buckets[bucket] = block;
      return;
    }
    while (get(at, SAME_BUCKET) != NONE) {
      at = get(at, SAME_BUCKET);
    }
    set(at, SAME_BUCKET, block);
  }

  private void unindex(int block) {
    add(block, USES, -CACHED);
    int bucket = bucket(key(block));
    if (buckets[bucket] == block) {
      buckets[bucket] = get(block, SAME_BUCKET);
      return;
    }
    int at = buckets[bucket];
    while (get(at, SAME_BUCKET) != block) {
      at = get(at, SAME_BUCKET);
    }
    set(at, SAME_BUCKET, get(block, SAME_BUCKET));
  }

  private long key(int block) {
    return (long) get(block, KEY_HIGH) << Integer.SIZE | Integer.toUnsignedLong(get(block, KEY_LOW));
  }

  private int get(int block, int what) {
    return blocks[(block << PLACES_LOG2) + what];
  }

  private void set(int block, int what, int value) {
    blocks[(block << PLACES_LOG2) + what] = value;
  }

  private int add(int block, int what, int more) {
    return blocks[(block << PLACES_LOG2) + what] += more;
  }
}
