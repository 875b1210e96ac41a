package io.kvasir.index;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The number of one worker's keys that hold a row, tier by tier. Nearly every row is held by one key in the device
 * tier: that is what a row without an entry means, so without offloading this is empty.
 *
 * <p>A count is four 16-bit lanes, one per tier. A lane that has reached 65,535 stays there, and the row is held until
 * the worker is cleared.
 *
 * <p>One thread writes, any thread reads, wait-free: in the table {@code [ row | count ]} a row keeps its place until
 * the table is replaced as a whole.
 */
final class TierCounts {
  /** One key, in the device tier. */
  static final long USUAL = 1;

  private static final VarHandle TABLE;
  private static final long[] EMPTY = new long[2];
  private static final int SMALLEST = 32;
  private static final int LANE = 0xFFFF;
  private static final Tier[] TIERS = Tier.values();

  static {
    try {
      TABLE = MethodHandles.lookup().findVarHandle(TierCounts.class, "table", long[].class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final Budget budget;
  private long[] table = EMPTY;
  private int explicit; // entries with another count than the usual one
  private int used;

  TierCounts(Budget budget) {
    this.budget = budget;
  }

  /** The nearest tier of a row that is held. */
  static Tier nearest(long counts) {
    for (Tier tier : TIERS) {
      if (lane(counts, tier.index()) != 0) {
        return tier;
      }
    }
    return Tier.DEVICE;
  }

  private static long lane(long counts, int tier) {
    return (counts >>> (16 * tier)) & LANE;
  }

  /** Whether all rows have the usual count. Any thread. */
  boolean isEmpty() {
    return ((long[]) TABLE.getAcquire(this)).length == EMPTY.length;
  }

  /** The count of a row that is held. Any thread. */
  long get(int row) {
    long[] now = (long[]) TABLE.getAcquire(this);
    int at = find(now, row);
    return (long) Segments.LONGS.getAcquire(now, at) == 0 ? USUAL : (long) Segments.LONGS.getAcquire(now, at + 1);
  }

  /** Sets the count of a row that no key held to one in a tier; false when the budget does not allow it. */
  boolean start(int row, int tier) {
    return put(row, 1L << (16 * tier));
  }

  /** Counts one more key in a tier; false when the budget does not allow it. */
  boolean add(int row, int tier) {
    long counts = get(row);
    return lane(counts, tier) == LANE || put(row, counts + (1L << (16 * tier)));
  }

  /** Counts one key less in a tier. True when none is left in any: the entry is then forgotten. */
  boolean subtract(int row, int tier) {
    long counts = get(row);
    if (lane(counts, tier) == LANE) {
      return false;
    }
    long left = counts - (1L << (16 * tier));
    boolean _ = put(row, left == 0 ? USUAL : left);
    return left == 0;
  }

  void clear() {
    if (table.length > EMPTY.length) {
      budget.release(Budget.arrayOf(table.length));
    }
    used = 0;
    explicit = 0;
    TABLE.setRelease(this, EMPTY);
  }

  private boolean put(int row, long counts) {
    int at = find(table, row);
    if (table[at] == 0) {
      if (counts == USUAL) {
        return true;
      }
      if ((used + 1) * 2 > table.length / 4 * 3 && !replace()) {
        return false;
      }
      at = find(table, row);
      used++;
      Segments.LONGS.setRelease(table, at + 1, USUAL);
      Segments.LONGS.setRelease(table, at, (long) row);
    }
    explicit += (counts == USUAL ? 0 : 1) - (table[at + 1] == USUAL ? 0 : 1);
    Segments.LONGS.setRelease(table, at + 1, counts);
    return true;
  }

  private boolean replace() {
    int length = Math.max(2 * SMALLEST, Integer.highestOneBit(Math.max(1, explicit)) * 8);
    long before = table.length == EMPTY.length ? 0 : Budget.arrayOf(table.length);
    if (!budget.reserve(Budget.arrayOf(length) - before)) {
      length = table.length;
      if ((explicit + 1) * 2 > length / 4 * 3) {
        return false;
      }
    }
    long[] replacement = new long[length];
    for (int i = 0; i < table.length; i += 2) {
      if (table[i] != 0 && table[i + 1] != USUAL) {
        int at = find(replacement, (int) table[i]);
        replacement[at] = table[i];
        replacement[at + 1] = table[i + 1];
      }
    }
    used = explicit;
    TABLE.setRelease(this, replacement);
    return true;
  }

  /** The index of a row's entry, or where it would be. */
  private static int find(long[] table, int row) {
    int mask = table.length - 2;
    int at = Segments.home(row, table.length >>> 1) << 1;
    while (true) {
      long there = (long) Segments.LONGS.getAcquire(table, at);
      if (there == 0 || there == row) {
        return at;
      }
      at = (at + 2) & mask;
    }
  }
}
