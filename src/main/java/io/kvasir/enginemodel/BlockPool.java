package io.kvasir.enginemodel;

import java.util.Arrays;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The blocks of a {@link PagedCache}, with reference counts, keys and the queue of free ones, as vLLM's {@code
 * v1/core/block_pool.py} has them.
 *
 * <p>Everything of a block stands side by side in one array, so that what the laboratory does most, to look a block up,
 * to take it or to release it, waits for memory once, and blocks that are taken together wait together. The key table
 * is a chained hash whose links are the blocks themselves. Not thread-safe.
 */
final class BlockPool {
  static final int NONE = -1;

  /** The group that makes the prefix. */
  static final int PREFIX = 0;

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

  static final int MAX_CAPACITY = (Integer.MAX_VALUE >>> PLACES_LOG2) - 2;

  private final int capacity;
  private final CacheListener listener;
  private final int[] blocks;

  /** The group that each block was cached by, {@link #PREFIX} without groups. */
  private final byte[] groups;

  /** Key table: first block of each bucket. */
  private final int[] buckets;
  /** The keys of blocks of the prefix that are evicted together. */
  private long[] evicted = new long[64];

  private int evictions;

  private final FreeQueue free;

  /** Free blocks of sessions, which are taken when there are no others; null where no session keeps blocks. */
  private final @Nullable FreeQueue kept;

  private final KeptKeys sessions = new KeptKeys();

  /** The blocks that are to be taken next. */
  private final int[] next = new int[MAX_TOUCHED];

  @SuppressWarnings("UnusedVariable")
  private int touched;

  /**
   * As many free blocks, none of them cached.
   *
   * @param grouped whether groups beside the prefix's share them
   * @param inSessions whether sessions keep what they have used
   */
  BlockPool(int capacity, boolean grouped, boolean inSessions, CacheListener listener) {
    this.capacity = capacity;
    this.listener = listener;
    this.blocks = new int[capacity << PLACES_LOG2];
    this.groups = grouped ? new byte[capacity] : new byte[0];
    this.free = FreeQueue.full(capacity);
    this.kept = inSessions ? FreeQueue.empty(capacity) : null;
    this.buckets = new int[Integer.highestOneBit(Math.max(2, capacity)) * 4];
    Arrays.fill(buckets, NONE);
  }

  int capacity() {
    return capacity;
  }

  /** The number of blocks that no sequence holds, cached or not. */
  int free() {
    return kept == null ? free.size() : free.size() + kept.size();
  }

  /** The number of sequences that hold {@code block}. */
  int references(int block) {
    return get(block, USES) >> 1;
  }

  /** Holds a cached block once more. */
  void hold(int block) {
    if (references(block) == 0) {
      queue(block).remove(block);
    }
    add(block, USES, REFERENCE);
  }

  /** Holds a block once less; a cached one can still be found. */
  void release(int block) {
    int uses = add(block, USES, -REFERENCE);
    if (uses == CACHED) {
      queue(block).addLast(block);
    } else if (uses == 0) {
      free.addFirst(block);
    }
  }

  /** Where a cached block is while it is free. */
  private FreeQueue queue(int block) {
    return kept != null && sessions.has(key(block)) ? kept : free;
  }

  /** Keeps a key's blocks for a session. */
  void keep(String session, long key) {
    if (kept != null && sessions.add(session, key)) {
      move(key, free, kept::addLast);
    }
  }

  /** A session is over: what it alone has kept is evicted next. */
  void endSession(String session) {
    if (kept != null) {
      for (long key : sessions.end(session)) {
        // The last block first.
        move(key, kept, free::addFirst);
      }
    }
  }

  /** Moves free blocks of a key to where they belong now. */
  private void move(long key, FreeQueue from, IntConsumer to) {
    for (int block = buckets[bucket(key)]; block != NONE; block = get(block, SAME_BUCKET)) {
      if (key(block) == key && references(block) == 0) {
        from.remove(block);
        to.accept(block);
      }
    }
  }

  /** Takes {@code count} free blocks, of which there are enough, into {@code taken} from a place on. */
  void take(int count, int[] taken, int from) {
    touched = count > 1 ? touch(Math.min(count, MAX_TOUCHED)) : 0;
    for (int i = 0; i < count; i++) {
      int block = kept == null || free.size() > 0 ? free.removeFirst() : kept.removeFirst();
      if (get(block, USES) == CACHED) {
        evict(block);
      }
      set(block, USES, REFERENCE);
      taken[from + i] = block;
    }
    reportEvictions();
  }

  private void evict(int block) {
    unindex(block);
    int group = group(block);
    if (group != PREFIX) {
      reportEvictions();
      ((GroupListener) listener).removed(group, key(block) ^ mark(group));
      return;
    }
    long key = key(block);
    if (kept != null && find(key) == NONE) {
      sessions.forget(key);
    }
    if (evictions == evicted.length) {
      evicted = Arrays.copyOf(evicted, evictions * 2);
    }
    evicted[evictions++] = key;
  }

  private void reportEvictions() {
    if (evictions > 0) {
      listener.removed(evicted, evictions);
      evictions = 0;
    }
  }

  /** Removes all content; refused while a sequence holds a block. */
  boolean clear() {
    if (free() != capacity) {
      return false;
    }
    while (kept != null && kept.size() > 0) {
      free.addLast(kept.removeFirst());
    }
    sessions.clear();
    Arrays.fill(buckets, NONE);
    for (int block = 0; block < capacity; block++) {
      set(block, USES, 0);
    }
    return true;
  }

  /** A group's oldest block of a key, {@link #NONE} if it is not cached. */
  int find(int group, long key) {
    return find(key ^ mark(group));
  }

  /** Caches a block of a group that makes no prefix. */
  void index(int block, int group, long key) {
    groups[block] = (byte) group;
    link(block, key ^ mark(group));
  }

  /** Caches a block of the prefix. */
  void index(int block, long key) {
    if (groups.length > 0) {
      groups[block] = PREFIX;
    }
    link(block, key);
  }

  private int group(int block) {
    return groups.length == 0 ? PREFIX : groups[block];
  }

  /** What makes keys of a group others than those of the prefix. */
  private static long mark(int group) {
    return group * 0xC2B2AE3D27D4EB4FL;
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

  /** The oldest block of the prefix that has a key, {@link #NONE} if none has. */
  int find(long key) {
    int block = buckets[bucket(key)];
    while (block != NONE && key(block) != key) {
      block = get(block, SAME_BUCKET);
    }
    return block;
  }

  /** Adds a copy behind the older ones: the oldest copy is the one that is shared. */
  private void link(int block, long key) {
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
