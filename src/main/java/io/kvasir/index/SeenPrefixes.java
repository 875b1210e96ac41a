package io.kvasir.index;

import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The prefixes of prompts that were seen, whoever holds them now: what a cache without limits would still have. A
 * prefix is remembered in steps of {@value #STEP_TOKENS} tokens, each by the chain hash of its last block, which stands
 * for everything before it.
 *
 * <p>Memory is bounded, so the oldest prefixes are forgotten. Steps are in two split-block Bloom filters of
 * {@value #STEP_BITS} bits a step: one is filled, and when it is full it takes the place of the other, whose steps are
 * forgotten, and a new one, twice as large up to the limit, is begun. At the limit that is 4 MiB for each 64 slots,
 * twice: between 134 and 268 million tokens of prompts for each 64 workers, some times what their devices hold. A
 * prefix is added again with each prompt that has it, so those in use stay. A step that was never seen is found with a
 * probability of at most 0.3 %, which makes a prefix too long by that step; one that was seen is always found until it
 * is forgotten.
 *
 * <p>Thread-safe, without locks but at the change of filters; neither call allocates otherwise.
 */
public final class SeenPrefixes {
  /** Finer steps would cost more memory and time, and tell operators nothing more. */
  static final int STEP_TOKENS = 64;

  static final int STEP_BITS = 16;

  private static final int FIRST_STEPS = 1 << 18;
  private static final int STEPS_PER_SLOT = 1 << 15;

  /** So many known steps in a row are not all found by chance: those before them are known, too. */
  private static final int PROOF = 4;

  private final int mostSteps;
  private volatile @Nullable Filters filters;

  /** The filter that is filled and the one before it. */
  private record Filters(Filter current, @Nullable Filter previous) {
    boolean contains(long hash) {
      return current.contains(hash) || (previous != null && previous.contains(hash));
    }
  }

  /**
   * Nothing seen yet; the first memory is taken with the first prefix.
   *
   * @param slots of the cell: its memory is in proportion
   */
  public SeenPrefixes(int slots) {
    this.mostSteps = slots * STEPS_PER_SLOT;
  }

  /** Remembers a prompt's blocks. Costs a cache line for each step that is new, and for a few that are not. */
  public void add(Chain chain) {
    int blocks = stepBlocks(chain);
    int step = chain.length() / blocks;
    if (step == 0) {
      return;
    }
    Filter current = filters().current;
    int added = 0;
    int known = 0;
    for (; step > 0 && known < PROOF; step--) {
      if (current.add(chain.hashes()[step * blocks - 1])) {
        added++;
        known = 0;
      } else {
        known++;
      }
    }
    if (added > 0 && current.count(added)) {
      replace(current);
    }
  }

  /**
   * The leading blocks of a prompt that were seen before, whole steps of them. Where no more were seen than are known
   * to be, that is found out with one look.
   *
   * @param atLeast leading blocks that are known to have been seen
   * @return at least that many
   */
  public int depth(Chain chain, int atLeast) {
    Filters all = filters;
    int blocks = stepBlocks(chain);
    int steps = chain.length() / blocks;
    int seen = atLeast / blocks;
    if (all == null || seen >= steps || !contains(all, chain, blocks, seen + 1)) {
      return atLeast;
    }
    seen++;
    int jump = 1;
    while (seen + jump <= steps && contains(all, chain, blocks, seen + jump)) {
      seen += jump;
      jump *= 2;
    }
    int most = Math.min(steps, seen + jump - 1);
    while (seen < most) {
      int middle = (seen + most + 1) >>> 1;
      if (contains(all, chain, blocks, middle)) {
        seen = middle;
      } else {
        most = middle - 1;
      }
    }
    return Math.max(atLeast, seen * blocks);
  }

  /** The memory that it takes now. */
  public long bytes() {
    Filters now = filters;
    return now == null ? 0 : now.current.bytes() + (now.previous == null ? 0 : now.previous.bytes());
  }

  private static boolean contains(Filters filters, Chain chain, int blocks, int step) {
    return filters.contains(chain.hashes()[step * blocks - 1]);
  }

  private static int stepBlocks(Chain chain) {
    return Math.max(1, STEP_TOKENS / chain.blockSize());
  }

  private Filters filters() {
    Filters now = filters;
    return now == null ? begin() : now;
  }

  private synchronized Filters begin() {
    Filters now = filters;
    if (now == null) {
      now = new Filters(new Filter(Math.min(FIRST_STEPS, mostSteps)), null);
      filters = now;
    }
    return now;
  }

  private synchronized void replace(Filter full) {
    Filters now = filters;
    if (now != null && now.current == full) {
      filters = new Filters(new Filter(Math.min(2 * full.steps, mostSteps)), full);
    }
  }

  /** A split-block Bloom filter: a hash sets eight bits, one in each of the eight words of one block. */
  private static final class Filter {
    private static final int BLOCK_LONGS = 4;

    /** Odd, one for each word of a block: those of Parquet's filters. */
    private static final int[] SALTS = {
      0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31
    };

    private final int steps;
    private final long[] bits;
    private final AtomicInteger count = new AtomicInteger();

    Filter(int steps) {
      this.steps = steps;
      this.bits = new long[Math.toIntExact((long) steps * STEP_BITS / Long.SIZE)];
    }

    long bytes() {
      return (long) bits.length * Long.BYTES;
    }

    /** Counts added steps; returns whether these have filled it. */
    boolean count(int added) {
      return count.addAndGet(added) >= steps;
    }

    boolean contains(long hash) {
      int at = block(hash);
      for (int i = 0; i < BLOCK_LONGS; i++) {
        long mask = mask(hash, i);
        if (((long) Segments.LONGS.getOpaque(bits, at + i) & mask) != mask) {
          return false;
        }
      }
      return true;
    }

    /** Returns whether it was not there. */
    boolean add(long hash) {
      int at = block(hash);
      boolean added = false;
      for (int i = 0; i < BLOCK_LONGS; i++) {
        long mask = mask(hash, i);
        if (((long) Segments.LONGS.getOpaque(bits, at + i) & mask) != mask) {
          added |= ((long) Segments.LONGS.getAndBitwiseOr(bits, at + i, mask) & mask) != mask;
        }
      }
      return added;
    }

    private int block(long hash) {
      return (int) Math.unsignedMultiplyHigh(hash, bits.length / BLOCK_LONGS) * BLOCK_LONGS;
    }

    private static long mask(long hash, int word) {
      int low = (int) hash;
      return (1L << ((low * SALTS[2 * word]) >>> 27)) | (1L << (32 + ((low * SALTS[2 * word + 1]) >>> 27)));
    }
  }
}
