package io.kvasir.index;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * The index of which worker of one cell holds which block.
 *
 * <p>Any thread may search at any time, wait-free. Each worker's blocks are written through its own
 * {@link WorkerBlocks}; writers of different workers run in parallel. A worker is removed in two steps: {@link #retire}
 * takes it out of every search at once, {@link #sweep} clears its bits, and only then may its slot be opened again.
 *
 * <p>How it works: {@link Segments} (memory), {@link Shards} (tables), {@link Rows} (writing),
 * {@link Search} (reading).
 */
public final class BlockIndex {
  /** The most slots that an index may have. */
  public static final int MAX_SLOTS = 256;

  /** The default limit of a worker's predicted blocks: a burst of long prompts. */
  private static final int MAX_PREDICTED = 1 << 16;

  private final int slots;
  private final Budget budget;
  private final Segments segments;
  private final Shards shards;
  private final Rows rows;
  private final Search search;
  private final Evictions evictions;
  private final long[] alive;
  private final AtomicReferenceArray<@Nullable WorkerBlocks> workers;
  private final Object sweepLock = new Object();
  private final LongAdder refused = new LongAdder();

  /**
   * Makes an empty index.
   *
   * @param slots 64, 128 or 256
   * @param budgetBytes the most memory rows, tables and maps may take
   * @throws IllegalArgumentException when the slots are another number, or the budget is too small for
   *     an empty index
   */
  public BlockIndex(int slots, long budgetBytes) {
    if (slots != 64 && slots != 128 && slots != MAX_SLOTS) {
      throw new IllegalArgumentException("slots: must be 64, 128 or 256, is " + slots);
    }
    this.slots = slots;
    this.budget = new Budget(budgetBytes);
    this.segments = new Segments(slots >>> 6, budget);
    this.shards = new Shards(segments, budget);
    this.rows = new Rows(segments, shards);
    this.search = new Search(segments, shards);
    this.evictions = new Evictions(slots, budget);
    this.alive = new long[slots >>> 6];
    this.workers = new AtomicReferenceArray<>(slots);
  }

  /** The number of slots: the workers that the index can hold. */
  public int slots() {
    return slots;
  }

  /**
   * Opens a free slot for a new worker, alive and without blocks.
   *
   * @throws IllegalStateException when the slot is taken, or was retired and is not yet swept
   */
  public WorkerBlocks open(int slot) {
    return open(slot, MAX_PREDICTED);
  }

  /**
   * As {@link #open(int)}.
   *
   * @param maxPredicted the worker's predicted blocks at a time, at least 1; beyond that the deepest blocks of the
   *     prompt that was predicted longest ago are evicted, which models the cache of an engine without events
   */
  public WorkerBlocks open(int slot, int maxPredicted) {
    if (maxPredicted < 1) {
      throw new IllegalArgumentException("maxPredicted: must be at least 1, is " + maxPredicted);
    }
    WorkerBlocks worker =
        new WorkerBlocks(checked(slot), segments, shards, rows, budget, refused, evictions, maxPredicted);
    synchronized (workers) {
      if (!workers.compareAndSet(slot, null, worker)) {
        throw new IllegalStateException(
            "slot " + slot + (isAlive(slot) ? " is taken: retire its worker first" : " is retired: sweep it first"));
      }
      evictions.reset(slot);
      long _ = (long) Segments.LONGS.getAndBitwiseOr(alive, slot >>> 6, 1L << slot);
    }
    return worker;
  }

  /**
   * Takes a worker out of every search at once. Its slot stays taken until {@link #sweep}. Waits for the
   * call its writer is in, if any; from then on its handle does nothing. A no-op on a free slot.
   */
  public void retire(int slot) {
    WorkerBlocks worker;
    synchronized (workers) {
      worker = workers.get(checked(slot));
      if (worker != null) {
        long _ = (long) Segments.LONGS.getAndBitwiseAnd(alive, slot >>> 6, ~(1L << slot));
      }
    }
    if (worker != null) {
      worker.close();
    }
  }

  /**
   * Clears the blocks of retired workers and frees their slots. Takes time in proportion to the whole index, however
   * many workers these are; safe beside searches and writers of other slots. One sweep at a time: another one waits.
   * Free slots are left alone.
   *
   * @throws IllegalStateException when a worker is not retired; then none is swept
   */
  public void sweep(int... slots) {
    synchronized (sweepLock) {
      long[] bits = new long[alive.length];
      for (int slot : slots) {
        WorkerBlocks worker = workers.get(checked(slot));
        if (worker != null && !worker.isClosed()) {
          throw new IllegalStateException("the worker in slot " + slot + " is not retired: retire it first");
        }
        bits[slot >>> 6] |= worker == null ? 0 : 1L << slot;
      }
      if (Arrays.stream(bits).anyMatch(word -> word != 0)) {
        rows.sweep(bits);
      }
      for (int slot : slots) {
        WorkerBlocks worker = workers.get(slot);
        if (worker != null) {
          worker.freeMaps();
          workers.set(slot, null);
        }
      }
    }
  }

  /**
   * Writes the depth of every candidate into {@code depths[slot]} (0 where it holds nothing) and
   * returns the greatest. Other slots are left as they are. Wait-free, allocates nothing.
   *
   * <p>A worker that holds a block is taken to hold the blocks before it; {@link #verify} checks each.
   *
   * @param candidates a bitmap of slots, {@code slots / 64} longs
   * @param depths at least {@code slots} long
   */
  public int search(Chain chain, long[] candidates, int[] depths) {
    return search.search(chain.hashes(), candidates, alive, depths);
  }

  /** The oracle of {@link #search}: looks up every block for every candidate, one by one. */
  public int linear(Chain chain, long[] candidates, int[] depths) {
    int deepest = 0;
    for (int slot = 0; slot < slots; slot++) {
      if ((candidates[slot >>> 6] >>> slot & 1) != 0) {
        depths[slot] = verify(chain, slot);
        deepest = Math.max(deepest, depths[slot]);
      }
    }
    return deepest;
  }

  /** The number of the chain's leading blocks that the worker holds, each looked up; 0 if it is not alive. */
  public int verify(Chain chain, int slot) {
    return isAlive(slot) ? search.verify(chain.hashes(), slot, null, null) : 0;
  }

  /**
   * As {@link #verify}, of blocks that the worker's engine itself has reported: what is only predicted ends them. Waits
   * for a write in progress where there are predictions.
   */
  public int reported(Chain chain, int slot) {
    WorkerBlocks worker = workers.get(checked(slot));
    return worker == null || !isAlive(slot) ? 0
        : worker.predicted() == 0 ? search.verify(chain.hashes(), slot, null, null)
        : worker.reported(chain.hashes());
  }

  /**
   * As {@link #verify}, with the tiers: counts each block in {@code blocks} at the {@link Tier#index} of its nearest
   * tier.
   */
  public int tiers(Chain chain, int slot, int[] blocks) {
    WorkerBlocks worker = workers.get(checked(slot));
    return worker != null && isAlive(slot) ? search.verify(chain.hashes(), slot, worker, blocks) : 0;
  }

  /** The number of distinct blocks held by any worker. Counts them: for gauges, not for the request path. */
  public long rows() {
    return rows.count();
  }

  /** The exact bytes of rows, tables and workers' maps; never more than the budget. */
  public long bytes() {
    return budget.used();
  }

  /** The number of blocks not registered because the budget was reached, since the index was made. */
  public long refused() {
    return refused.sum();
  }

  /**
   * The share of the blocks which the worker evicted lately that had to be stored again, by it or another: how likely
   * it is that what a block takes the place of is computed once more. 0 to 1; 0 for a new worker, and fading while it
   * evicts nothing and others do. What is removed with {@link WorkerBlocks#clear} does not count. Any thread,
   * wait-free.
   */
  public double evictionLoss(int slot) {
    return evictions.share(checked(slot));
  }

  /**
   * The {@link #evictionLoss} of every worker, by slot: not a copy, but where they are learnt. Each value is as of some
   * moment about when it is read; only the index writes them.
   */
  public double[] evictionLosses() {
    return evictions.shares();
  }

  /**
   * The hash of the block that each worker's engine evicted last, by slot: {@link BlockHash#NONE} for none, and after
   * {@link WorkerBlocks#clear}; null while none has evicted any. Not a copy, as {@link #evictionLosses}.
   */
  public long @Nullable [] latestEvicted() {
    return evictions.latest();
  }

  /** The memory itself, for tests of the layout. */
  Segments segments() {
    return segments;
  }

  /** The segment that begins with a block, for tests of the layout. */
  int segmentOf(long hash) {
    return shards.find(hash);
  }

  private boolean isAlive(int slot) {
    return ((long) Segments.LONGS.getAcquire(alive, checked(slot) >>> 6) >>> slot & 1) != 0;
  }

  private int checked(int slot) {
    if (slot < 0 || slot >= slots) {
      throw new IllegalArgumentException("slot: must be 0 to " + (slots - 1) + ", is " + slot);
    }
    return slot;
  }
}
