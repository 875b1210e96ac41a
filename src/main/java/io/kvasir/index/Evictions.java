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
 * #SAMPLES} and twice as many. The table is taken with the first eviction and doubled as more workers evict; of two
 * blocks that fall on one place the later eviction is remembered, and what is remembered while the table is doubled may
 * be forgotten, which underestimates losses a little. Where the index's memory budget has no room for it, no losses are
 * known. An index that takes another's place learns them anew.
 *
 * <p>Of each worker the block is known, too, that it evicted last.
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

  /** Places of the table for each worker that evicts: twice what is remembered of one within the horizon. */
  private static final int PLACES = 4 * HORIZON * SAMPLES;

  /** Workers that the first table is for. */
  private static final int FIRST_EVICTORS = 4;

  // An entry has 32 bits of the mixed hash, its tag, 8 of the slot and 24 of the evictor's count. The tag has neither
  // the bits that a sample is chosen by, nor the lowest, which depend on the lowest of the hash alone.
  private static final int TAG_BITS = 24;
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

  /** The last mixed hash, unsigned, that has the least of them: those beyond are in no sample. */
  private volatile long lastSampled;

  /** The block that each worker evicted last, {@link BlockHash#NONE} for none. */
  private final long[] latest;

  /** Whether any worker has evicted any. */
  private volatile boolean evicting;

  /** A power of two of entries, each at the place that the lowest bits of its tag say. */
  private volatile long @Nullable [] table;

  /** Nothing has been evicted. */
  Evictions(int slots, Budget budget) {
    this.budget = budget;
    this.shares = new double[slots];
    this.latest = new long[slots];
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
    cleared(slot);
    int _ = (int) INTS.getAndAdd(sampledEvictions, slot, HORIZON * 2 * SAMPLES);
    INTS.setOpaque(losses, slot, 0);
    DOUBLES.setOpaque(shares, slot, 0.0);
  }

  /** A worker has dropped all that it held: nothing is next to be evicted. */
  void cleared(int slot) {
    Segments.LONGS.setOpaque(latest, slot, BlockHash.NONE);
  }

  /** A worker evicted a block, and holds so many yet. */
  void evicted(int slot, long hash, int blocks) {
    int sampled = sampled(slot, blocks);
    long mixed = Segments.mix(hash);
    if (Long.numberOfLeadingZeros(mixed) >= sampled) {
      evictedSampled(slot, mixed, blocks, sampled);
    }
  }

  /**
   * A worker evicted blocks one after the other, whose rows it has yet, and will hold so many. All hashes are read at
   * once, instead of one at a time while the evicted are looked up.
   */
  void evicted(int slot, Segments segments, int[] rows, int count, int blocks) {
    int sampled = sampled(slot, blocks);
    Segments.LONGS.setOpaque(latest, slot, segments.hash(rows[count - 1]));
    if (!evicting) {
      evicting = true;
    }
    for (int i = 0; i < count; i++) {
      long mixed = Segments.mix(segments.hash(rows[i]));
      if (Long.numberOfLeadingZeros(mixed) >= sampled) {
        evictedSampled(slot, mixed, blocks + count - 1 - i, sampled);
      }
    }
  }

  /** The number of zeros that the sampled hashes of a worker with so many blocks begin with. */
  private int sampled(int slot, int blocks) {
    int sampled = Math.max(0, Integer.SIZE - 1 - Integer.numberOfLeadingZeros(blocks / SAMPLES));
    if (zeros[slot] != sampled) {
      sample(slot, sampled);
    }
    return sampled;
  }

  private void evictedSampled(int slot, long mixed, int blocks, int sampled) {
    int holds = Math.max(1, blocks >>> sampled);
    boolean first = sampledBlocks[slot] == 0;
    INTS.setOpaque(sampledBlocks, slot, holds);
    long[] entries = table;
    if (first || entries == null) {
      entries = widened();
    }
    if (entries == null) {
      return;
    }
    int count = sampledEvictions[slot] + 1;
    INTS.setOpaque(sampledEvictions, slot, count);
    int tag = tag(mixed);
    Segments.LONGS.setOpaque(
        entries, place(tag, entries), (long) tag << TAG_SHIFT | (long) slot << SLOT_SHIFT | (count & COUNT_MASK));
    int lost = (int) INTS.getAndSet(losses, slot, 0);
    DOUBLES.setOpaque(shares, slot, Math.min(1, shares[slot] + (lost - shares[slot]) / holds));
    INTS.setOpaque(active, slot, 1);
    if (count % Math.max(1, holds / ROUNDS) == 0) {
      fadeOthers(slot);
    }
  }

  /** A worker stored a block that it did not hold. */
  void stored(long hash) {
    long mixed = Segments.mix(hash);
    if (Long.compareUnsigned(mixed, lastSampled) <= 0) {
      storedSampled(mixed);
    }
  }

  private void storedSampled(long mixed) {
    long[] entries = table;
    if (entries == null) {
      return;
    }
    int tag = tag(mixed);
    int place = place(tag, entries);
    long entry = (long) Segments.LONGS.getOpaque(entries, place);
    if ((int) (entry >>> TAG_SHIFT) != tag || entry == 0
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
    double kept = 1 - 1.0 / (HORIZON * ROUNDS * evictors());
    for (int other = 0; other < shares.length; other++) {
      // A share that its own worker changes at the same time may stay as it was: then that one is not idle.
      if (other != slot && (int) INTS.getAndSet(active, other, 0) == 0) {
        DOUBLES.setOpaque(shares, other, kept * (double) DOUBLES.getOpaque(shares, other));
      }
    }
  }

  /** The number of workers that have evicted. */
  private int evictors() {
    int workers = 0;
    for (int slot = 0; slot < sampledBlocks.length; slot++) {
      workers += (int) INTS.getOpaque(sampledBlocks, slot) > 0 ? 1 : 0;
    }
    return workers;
  }

  /** The share of what a worker evicts that is stored again, 0 to 1. */
  double share(int slot) {
    return (double) DOUBLES.getOpaque(shares, slot);
  }

  /** The share of each worker, as it is learnt. */
  double[] shares() {
    return shares;
  }

  /** The block that each worker evicted last, {@link BlockHash#NONE} for none, as it changes; null before the first. */
  long @Nullable [] latest() {
    return evicting ? latest : null;
  }

  private static int tag(long mixed) {
    return (int) (mixed >>> TAG_BITS);
  }

  private static int place(int tag, long[] entries) {
    return tag & (entries.length - 1);
  }

  /** The table with room for all workers that have evicted; as it is where the memory budget is reached. */
  private synchronized long @Nullable [] widened() {
    long[] entries = table;
    int places = FIRST_EVICTORS * PLACES;
    while (places < evictors() * PLACES) {
      places *= 2;
    }
    if (entries == null) {
      table = budget.reserve(Budget.arrayOf(places)) ? new long[places] : null;
    } else if (entries.length < places && budget.reserve((long) (places - entries.length) * Long.BYTES)) {
      long[] wider = new long[places];
      for (long entry : entries) {
        wider[place((int) (entry >>> TAG_SHIFT), wider)] = entry;
      }
      table = wider;
    }
    return table;
  }

  private synchronized void sample(int slot, int sampled) {
    zeros[slot] = sampled;
    int least = Long.SIZE;
    for (int zero : zeros) {
      least = Math.min(least, zero);
    }
    lastSampled = least == Long.SIZE ? 0 : -1L >>> least;
  }
}
