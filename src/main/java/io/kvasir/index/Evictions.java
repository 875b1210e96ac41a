package io.kvasir.index;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * What workers lose by evicting: the share of the blocks that a worker evicted lately which had to be stored again, by
 * whichever worker. It is 0 while memory has room for all that is asked for again, and where nobody asks for what is
 * evicted; it nears 1 where memory is full of prefixes that will be needed.
 *
 * <p>Evicted blocks are remembered in one table for all workers, each with its evictor and the time on the clock of the
 * evictor's own evictions. A block that is stored while its eviction is remembered, and the evictor has since turned
 * over less than {@value #HORIZON} times what it holds, was a loss. The share is a running mean over as many evictions
 * as the worker holds blocks, so that a long prompt does not turn it. What was learnt of a worker that evicts
 * nothing fades while all memory is turned over, to a third in {@value #HORIZON} times; else a worker that is spared
 * because it once lost much would never show that it no longer does.
 *
 * <p>A sample of the blocks stands for all, those whose mixed hash begins with zeros: of each worker's between {@value
 * #SAMPLES} and twice as many. The table is taken with the first eviction and has a fixed size; of two blocks that fall
 * on one place the later eviction is remembered, which underestimates losses a little. Where the index's memory budget
 * has no room for it, no losses are known. An index that takes another's place learns them anew.
 *
 * <p>One thread at a time reports a worker's evictions, any thread may report stored blocks and read. Nothing waits but
 * for the table.
 */
final class Evictions {
  /** How often a worker may have turned over what it holds before a block that it evicted counts as never missed. */
  static final int HORIZON = 4;

  /** The fewest sampled blocks of a worker that holds at least as many. */
  static final int SAMPLES = 256;

  /** How often a worker reports that others are to fade, while it turns over what it holds once. */
  private static final int ROUNDS = 4;

  private static final int PLACES_PER_SLOT = 4096;

  // An entry has 32 bits of the hash, 8 of the slot and 24 of the evictor's count.
  private static final int TAG_SHIFT = 32;
  private static final int SLOT_SHIFT = 24;
  private static final int SLOT_MASK = 0xff;
  private static final int COUNT_MASK = (1 << SLOT_SHIFT) - 1;

  private static final VarHandle INTS = MethodHandles.arrayElementVarHandle(int[].class).withInvokeExactBehavior();
  private static final VarHandle DOUBLES =
      MethodHandles.arrayElementVarHandle(double[].class).withInvokeExactBehavior();

  private final Budget budget;
  private final double[] shares;

  /** Losses of each worker that are not in its share yet. */
  private final int[] losses;

  /** Sampled evictions of each worker. */
  private final int[] sampledEvictions;

  /** Sampled blocks that each worker holds. */
  private final int[] sampledBlocks;

  /** 1 for a worker that evicted a sampled block since another one's last round, else 0. */
  private final int[] active;

  /** The number of zeros that the sampled hashes of each worker begin with at least. */
  private final int[] zeros;

  /** The least of them: a hash with fewer is in no sample. */
  private volatile int leastZeros = Long.SIZE;

  private volatile long @Nullable [] table;

  /** Nothing has been evicted. */
  Evictions(int slots, Budget budget) {
    this.budget = budget;
    this.shares = new double[slots];
    this.losses = new int[slots];
    this.sampledEvictions = new int[slots];
    this.sampledBlocks = new int[slots];
    this.active = new int[slots];
    this.zeros = new int[slots];
    Arrays.fill(zeros, Long.SIZE);
  }

  /** Begins anew for another worker in a slot: what the one before it evicted is too long ago from now on. */
  void reset(int slot) {
    sample(slot, Long.SIZE);
    int _ = (int) INTS.getAndAdd(sampledEvictions, slot, HORIZON * 2 * SAMPLES);
    INTS.setOpaque(losses, slot, 0);
    DOUBLES.setOpaque(shares, slot, 0.0);
  }

  /** A worker evicted a block, and holds so many yet. */
  void evicted(int slot, long hash, int blocks) {
    int sampled = Math.max(0, Integer.SIZE - Integer.numberOfLeadingZeros(blocks / SAMPLES) - 1);
    if (zeros[slot] != sampled) {
      sample(slot, sampled);
    }
    long mixed = Segments.mix(hash);
    if (Long.numberOfLeadingZeros(mixed) < sampled) {
      return;
    }
    long @Nullable [] entries = table();
    if (entries == null) {
      return;
    }
    int count = sampledEvictions[slot] + 1;
    INTS.setOpaque(sampledEvictions, slot, count);
    Segments.LONGS.setOpaque(
        entries,
        place(mixed, entries),
        mixed << TAG_SHIFT | (long) slot << SLOT_SHIFT | (count & COUNT_MASK));
    int holds = Math.max(1, blocks >>> sampled);
    INTS.setOpaque(sampledBlocks, slot, holds);
    int lost = (int) INTS.getAndSet(losses, slot, 0);
    DOUBLES.setOpaque(shares, slot, Math.min(1, shares[slot] + (lost - shares[slot]) / holds));
    INTS.setOpaque(active, slot, 1);
    if (count % Math.max(1, holds / ROUNDS) == 0) {
      fadeOthers(slot);
    }
  }

  /** A worker stored a block that it did not hold. */
  void stored(long hash) {
    long[] entries = table;
    if (entries == null) {
      return;
    }
    long mixed = Segments.mix(hash);
    if (Long.numberOfLeadingZeros(mixed) < leastZeros) {
      return;
    }
    int place = place(mixed, entries);
    long entry = (long) Segments.LONGS.getOpaque(entries, place);
    if (entry >>> TAG_SHIFT != (mixed & 0xffff_ffffL) || entry == 0
        || !Segments.LONGS.compareAndSet(entries, place, entry, 0L)) {
      return;
    }
    int slot = (int) (entry >>> SLOT_SHIFT) & SLOT_MASK;
    int since = ((int) INTS.getOpaque(sampledEvictions, slot) - (int) entry) & COUNT_MASK;
    if (since < HORIZON * (long) (int) INTS.getOpaque(sampledBlocks, slot)) {
      int _ = (int) INTS.getAndAdd(losses, slot, 1);
    }
  }

  /** A worker has turned over a part of what it holds: others that evicted nothing meanwhile are known less well. */
  private void fadeOthers(int slot) {
    int workers = 0;
    for (int other = 0; other < sampledBlocks.length; other++) {
      workers += (int) INTS.getOpaque(sampledBlocks, other) > 0 ? 1 : 0;
    }
    double kept = 1 - 1.0 / (HORIZON * ROUNDS * workers);
    for (int other = 0; other < shares.length; other++) {
      // A share that its own worker changes at the same time may stay as it was: then that one is not idle.
      if (other != slot && (int) INTS.getAndSet(active, other, 0) == 0) {
        DOUBLES.setOpaque(shares, other, kept * (double) DOUBLES.getOpaque(shares, other));
      }
    }
  }

  /** The share of what a worker evicts that is stored again, 0 to 1. */
  double share(int slot) {
    return (double) DOUBLES.getOpaque(shares, slot);
  }

  /** Writes the share of each worker into {@code bySlot}. */
  void shares(double[] bySlot) {
    for (int slot = 0; slot < shares.length; slot++) {
      bySlot[slot] = (double) DOUBLES.getOpaque(shares, slot);
    }
  }

  private static int place(long mixed, long[] entries) {
    // Neither the bits of the entry nor those that a sample is chosen by.
    return (int) (mixed >>> TAG_SHIFT) & (entries.length - 1);
  }

  private long @Nullable [] table() {
    long[] entries = table;
    return entries == null ? begin() : entries;
  }

  private synchronized long @Nullable [] begin() {
    long[] entries = table;
    long longs = (long) zeros.length * PLACES_PER_SLOT;
    if (entries == null && budget.reserve(Budget.arrayOf(longs))) {
      entries = new long[(int) longs];
      table = entries;
    }
    return entries;
  }

  private synchronized void sample(int slot, int sampled) {
    zeros[slot] = sampled;
    leastZeros = Arrays.stream(zeros).min().orElse(Long.SIZE);
  }
}
