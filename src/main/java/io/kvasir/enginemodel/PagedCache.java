package io.kvasir.enginemodel;

import java.util.List;

/**
 * The KV cache of an engine: paged, prefix-shared blocks with reference counts, as vLLM's block pool has them (vLLM
 * {@code v1/core/block_pool.py}, {@code kv_cache_manager.py}, {@code kv_cache_coordinator.py}).
 *
 * <p>A block is held (references &gt; 0) or free. A free block may still be <em>cached</em>: its content is found under
 * its key until the block is allocated again. Free blocks form one queue, allocated from the front. Cached blocks of a
 * finished sequence go to the back, last block first, so that the tail of the least recently used sequence is evicted
 * first and a prefix outlives its continuation; blocks without cached content go to the front, so that they are used up
 * before anything is evicted (as recorded from vLLM 0.32). Only full blocks are cached. Equal blocks computed by two
 * sequences at once are two copies under one key, stored and evicted one by one, as in vLLM. At least one token of a
 * sequence is always left to compute.
 *
 * <p>A hybrid model has {@linkplain CacheGroup groups} beside the layers of full attention, which make the prefix. They
 * take blocks of the same pool and of the same size, and a sequence goes on from the longest beginning at whose end all
 * of them have what they need.
 *
 * <p>SGLang shares blocks only {@linkplain #ofComputed once they are computed} (SGLang {@code
 * mem_cache/radix_cache.py}): two sequences of one iteration that begin alike compute the same beside each other, and
 * one copy of it is kept. Not thread-safe.
 */
public final class PagedCache {
  private static final int MAX_GROUPS = Byte.MAX_VALUE;

  private final int blockSize;
  private final CacheListener listener;
  private final BlockPool pool;
  private final GroupCache[] groups;
  private final boolean prefixFirst;
  private final boolean onceComputed;
  private final Speculation speculation;

  /** An empty cache of {@code capacity} blocks of {@code blockSize} tokens. */
  public PagedCache(int capacity, int blockSize, CacheListener listener) {
    this(
        blockSize, listener, new BlockPool(checked(capacity, blockSize), false, false, listener), new GroupCache[0],
        true, false, Speculation.NONE);
  }

  private PagedCache(
      int blockSize, CacheListener listener, BlockPool pool, GroupCache[] groups, boolean prefixFirst,
      boolean onceComputed, Speculation speculation) {
    this.speculation = speculation;
    this.prefixFirst = prefixFirst;
    this.onceComputed = onceComputed;
    this.blockSize = blockSize;
    this.listener = listener;
    this.pool = pool;
    this.groups = groups;
  }

  /**
   * An empty cache for a hybrid model, whose groups beside the prefix's are numbered from 1 on.
   *
   * @param prefixFirst whether the first of the model's layers has full attention: groups take blocks and release them
   *     in the order of their layers, so what is evicted next depends on it
   */
  public static PagedCache ofGroups(
      int capacity, int blockSize, List<CacheGroup> groups, boolean prefixFirst, GroupListener listener) {
    if (groups.size() > MAX_GROUPS) {
      throw new IllegalArgumentException("At most " + MAX_GROUPS + " groups, not " + groups.size());
    }
    BlockPool pool = new BlockPool(checked(capacity, blockSize), !groups.isEmpty(), false, listener);
    GroupCache[] caches = new GroupCache[groups.size()];
    for (int i = 0; i < caches.length; i++) {
      caches[i] = GroupCache.of(groups.get(i), i + 1, blockSize, pool, listener);
    }
    return new PagedCache(blockSize, listener, pool, caches, prefixFirst, false, Speculation.NONE);
  }

  /** An empty cache of an engine that speculates. */
  public static PagedCache ofSpeculation(int capacity, int blockSize, Speculation speculation, CacheListener listener) {
    BlockPool pool = new BlockPool(checked(capacity, blockSize), false, false, listener);
    return new PagedCache(blockSize, listener, pool, new GroupCache[0], true, false, speculation);
  }

  /**
   * An empty cache whose blocks are shared once they are computed, and those of an answer once it has ended.
   *
   * @param sessions whether what a {@linkplain Sequence#session session} has used is evicted after all else, until that
   *     {@linkplain #endSession ends} (SGLang {@code mem_cache/unified_cache/session_ref_tracker.py})
   * @param lookahead whether it speculates, and so keeps pairs of tokens
   */
  public static PagedCache ofComputed(
      int capacity, int blockSize, boolean sessions, boolean lookahead, CacheListener listener) {
    BlockPool pool = new BlockPool(checked(capacity, blockSize), false, sessions, listener);
    return new PagedCache(
        blockSize, listener, pool, new GroupCache[0], true, true,
        lookahead ? Speculation.LOOKAHEAD : Speculation.NONE);
  }

  private static int checked(int capacity, int blockSize) {
    if (capacity < 1 || capacity > BlockPool.MAX_CAPACITY || blockSize < 1) {
      throw new IllegalArgumentException(
          "capacity and block size must be at least 1, and capacity at most " + BlockPool.MAX_CAPACITY + ", not "
              + capacity + " blocks of " + blockSize);
    }
    return capacity;
  }

  /** The number of tokens in a block. */
  public int blockSize() {
    return blockSize;
  }

  /** The number of blocks. */
  public int capacity() {
    return pool.capacity();
  }

  /** The number of blocks that no sequence holds, cached or not. */
  public int free() {
    return pool.free();
  }

  /** The number of leading keys whose blocks are cached; they do not count as used. */
  public int held(long[] keys) {
    int held = 0;
    while (held < keys.length && pool.find(keys[held]) != BlockPool.NONE) {
      held++;
    }
    return held;
  }

  /** Begins an iteration: states of the one before can be gone on from. */
  void beginStep() {
    for (GroupCache group : groups) {
      group.beginStep();
    }
  }

  /**
   * The number of leading full blocks of {@code sequence} that are cached and from whose end it can go on; at least one
   * token is left to compute.
   */
  int hits(Sequence sequence) {
    // SGLang does not look up the last token, so that the one before it makes no pair.
    int unseen = onceComputed && speculation == Speculation.LOOKAHEAD ? 2 : 1;
    int max = Math.max(0, sequence.length() - unseen) / blockSize;
    int hits = 0;
    while (hits < max && pool.find(sequence.key(hits)) != BlockPool.NONE) {
      hits++;
    }
    if (speculation == Speculation.RECOMPUTES_LAST_BLOCK) {
      return Math.max(0, hits - 1);
    }
    return groups.length == 0 ? hits : agreed(sequence, hits);
  }

  /** The longest beginning that all groups agree on. Where the prefix is longer, others part from it: that is kept. */
  private int agreed(Sequence sequence, int prefix) {
    int hits = prefix;
    int agreed = 0;
    for (int i = 0; agreed < groups.length; i = (i + 1) % groups.length) {
      int shorter = groups[i].boundary(sequence, hits);
      agreed = shorter == hits ? agreed + 1 : 1;
      hits = shorter;
    }
    sequence.sharedBlocks = hits < prefix ? prefix : 0;
    return hits;
  }

  /**
   * How many of the next {@code most} tokens of a sequence, of which {@code computed} are, an iteration may compute:
   * states are kept only where one ends. May be 0.
   *
   * @param budget tokens that an iteration computes at most
   */
  int chunk(Sequence sequence, int computed, int most, int budget) {
    int chunk = most;
    for (GroupCache group : groups) {
      chunk = group.chunk(sequence, computed, chunk, budget);
    }
    return chunk;
  }

  /**
   * Admits {@code sequence}, which holds no blocks yet: it gets its first {@code hits} blocks from the cache and new
   * ones up to {@code tokens} tokens.
   *
   * @return false, with nothing changed, when too few blocks are free
   */
  boolean admit(Sequence sequence, int hits, int tokens) {
    boolean admitted = reserve(sequence, hits, tokens);
    if (admitted && !onceComputed) {
      makeFindable(sequence, tokens);
    }
    return admitted;
  }

  /** As {@link #admit}, but new blocks are not cached before {@link #makeFindable}. */
  boolean reserve(Sequence sequence, int hits, int tokens) {
    int idle = 0;
    for (int i = 0; i < hits; i++) {
      int block = pool.find(sequence.key(i));
      sequence.hold(block);
      idle += pool.references(block) == 0 ? 1 : 0;
    }
    if (blocksFor(tokens) - hits + idle + groupsNeed(sequence, hits, tokens) > pool.free()) {
      sequence.blockCount = 0;
      return false;
    }
    for (int i = 0; i < hits; i++) {
      pool.hold(sequence.blocks[i]);
    }
    sequence.keyed = hits;
    for (GroupCache group : groups) {
      group.adopt(sequence, hits);
    }
    take(sequence, tokens);
    return true;
  }

  private int groupsNeed(Sequence sequence, int hits, int tokens) {
    int need = 0;
    for (GroupCache group : groups) {
      if (group.isBeingMade(sequence, hits)) {
        return BlockPool.MAX_CAPACITY;
      }
      need += group.needed(sequence, hits, tokens);
    }
    return need;
  }

  /** Caches the full blocks of the first {@code tokens} tokens of a sequence, which are in its blocks. */
  void makeFindable(Sequence sequence, int tokens) {
    int full = findable(sequence, tokens) / blockSize;
    int from = sequence.keyed;
    if (full > from) {
      for (int i = from; i < full; i++) {
        pool.index(sequence.blocks[i], sequence.key(i));
      }
      sequence.keyed = full;
      listener.stored(sequence, from, full);
    }
    for (GroupCache group : groups) {
      group.makeFindable(sequence, full);
    }
  }

  /** Tokens of which blocks can be found, of so many that are in a sequence's blocks. */
  private int findable(Sequence sequence, int tokens) {
    if (speculation != Speculation.LOOKAHEAD) {
      return tokens;
    }
    return onceComputed ? Math.max(0, tokens - 1) : Math.min(tokens, sequence.length() - 1);
  }

  /**
   * Allocates blocks to a sequence for its first {@code tokens} tokens.
   *
   * @return false, with nothing taken, when too few blocks are free
   */
  boolean extend(Sequence sequence, int tokens) {
    int missing = blocksFor(tokens) - sequence.blockCount;
    for (GroupCache group : groups) {
      group.releaseUnseen(sequence);
      missing += group.missing(sequence, tokens);
    }
    if (missing > pool.free()) {
      return false;
    }
    take(sequence, tokens);
    if (!onceComputed) {
      makeFindable(sequence, tokens);
    }
    return true;
  }

  /**
   * A sequence has computed more of its prompt, or has ended: others share it from now on, where they do not share it
   * already.
   */
  void computed(Sequence sequence) {
    if (onceComputed) {
      int full = findable(sequence, sequence.computed) / blockSize;
      while (sequence.keyed < full && shareOlder(sequence, sequence.keyed)) {
        sequence.keyed++;
      }
      makeFindable(sequence, sequence.computed);
    }
  }

  /** A sequence has ended: its session keeps what it has used, and its last token is what comes after a block. */
  void ended(Sequence sequence) {
    if (speculation == Speculation.LOOKAHEAD && !onceComputed) {
      makeFindable(sequence, sequence.computed);
    }
    String session = sequence.session();
    for (int i = 0; session != null && i < sequence.keyed; i++) {
      pool.keep(session, sequence.key(i));
    }
  }

  /** A session is over: what it alone has kept is evicted next. */
  public void endSession(String session) {
    pool.endSession(session);
  }

  /** Takes the block that another sequence has computed beside this one in place of its own; whether there is one. */
  private boolean shareOlder(Sequence sequence, int at) {
    int older = pool.find(sequence.key(at));
    if (older == BlockPool.NONE) {
      return false;
    }
    pool.hold(older);
    pool.release(sequence.blocks[at]);
    sequence.blocks[at] = older;
    return true;
  }

  /** How many tokens beyond its first {@code tokens} a sequence has room for in its blocks before it fills one. */
  int plainTokens(Sequence sequence, int tokens) {
    int held = sequence.blockCount * blockSize;
    int fills = onceComputed ? held : (sequence.keyed + 1) * blockSize - 1;
    return Math.max(0, Math.min(held, fills) - tokens);
  }

  /** Releases all blocks of {@code sequence}; cached ones can still be found. Idempotent. */
  void release(Sequence sequence) {
    if (prefixFirst) {
      releasePrefix(sequence);
    }
    for (GroupCache group : groups) {
      group.release(sequence);
    }
    if (!prefixFirst) {
      releasePrefix(sequence);
    }
    sequence.blockCount = 0;
    sequence.keyed = 0;
    sequence.computed = 0;
  }

  private void releasePrefix(Sequence sequence) {
    for (int i = sequence.blockCount - 1; i >= 0; i--) {
      pool.release(sequence.blocks[i]);
    }
  }

  /** Removes all content; refused, as by vLLM, while a sequence holds a block. */
  public boolean clear() {
    boolean cleared = pool.clear();
    if (cleared) {
      listener.cleared();
    }
    return cleared;
  }

  /** The number of sequences that hold {@code block}. */
  int references(int block) {
    return pool.references(block);
  }

  private int blocksFor(int tokens) {
    return (tokens + blockSize - 1) / blockSize;
  }

  private void take(Sequence sequence, int tokens) {
    if (prefixFirst) {
      takePrefix(sequence, tokens);
    }
    for (GroupCache group : groups) {
      group.take(sequence, tokens);
    }
    if (!prefixFirst) {
      takePrefix(sequence, tokens);
    }
  }

  private void takePrefix(Sequence sequence, int tokens) {
    int missing = blocksFor(tokens) - sequence.blockCount;
    if (missing > 0) {
      sequence.makeRoom(missing);
      pool.take(missing, sequence.blocks, sequence.blockCount);
      sequence.blockCount += missing;
    }
  }
}
