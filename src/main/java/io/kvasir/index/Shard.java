package io.kvasir.index;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The writers' side of one shard: allocates and frees the segments whose first hash belongs to it, under its own
 * monitor. Both are short and concern whole segments only; a row or a bit is set without the monitor.
 */
final class Shard extends CacheLinePadding {
  private static final VarHandle TABLES = MethodHandles.arrayElementVarHandle(long[][].class);
  private static final long REMOVED = 1L << 63; // an entry of no segment

  /** Unused segments kept for this shard: few, since there are many shards. */
  private static final int MAX_KEPT = 2;

  private final int number;
  private final long[][] tables;
  private final Segments segments;
  private final Budget budget;
  private int live;
  private int used; // live and removed entries
  private int kept; // unused segments
  private int free = Segments.NONE; // the first of them, linked by their next links

  /**
   * An empty shard.
   *
   * @param tables the tables of all shards; this one reads and replaces its own
   */
  Shard(int number, long[][] tables, Segments segments, Budget budget) {
    this.number = number;
    this.tables = tables;
    this.segments = segments;
    this.budget = budget;
  }

  /** A shard's table, among those of all shards. */
  static long[] table(long[][] tables, int shard) {
    return (long[]) TABLES.getAcquire(tables, shard);
  }

  /** Where the search for a mixed hash begins in a table. */
  static int home(long mixed, int length) {
    return (int) ((mixed << 8) >>> Long.numberOfLeadingZeros(length - 1L));
  }

  /** The entry of a segment whose first row has this mixed hash. */
  static long entry(long mixed, int segment) {
    return (mixed << 32) | segment;
  }

  /** As {@link Shards#pinned}. */
  synchronized int pinned(long hash, int pins) {
    long mixed = Segments.mix(hash);
    long[] table = roomy();
    int mask = table.length - 1;
    int target = -1;
    int i = home(mixed, table.length);
    for (; table[i] != 0; i = (i + 1) & mask) {
      int segment = (int) table[i];
      if (segment == Segments.NONE) {
        target = target < 0 ? i : target;
      } else if (table[i] == entry(mixed, segment)
          && segments.hash(segment << Segments.ROW_BITS) == hash) {
        if (segments.tryPin(segment << Segments.ROW_BITS, pins)) {
          return segment;
        }
        // It has ended and is about to be freed under this monitor. Its successor gets its entry.
        int row = allocate();
        if (row != Segments.NONE) {
          segments.start(row, hash, pins);
          Segments.LONGS.setRelease(table, i, entry(mixed, row >>> Segments.ROW_BITS));
        }
        return row >>> Segments.ROW_BITS;
      }
    }
    if (target < 0 && used + 1 == table.length) {
      return Segments.NONE; // a reader needs one empty entry to stop at
    }
    int row = allocate();
    if (row == Segments.NONE) {
      return Segments.NONE;
    }
    if (target < 0) {
      target = i;
      used++;
    }
    live++;
    segments.start(row, hash, pins);
    Segments.LONGS.setRelease(table, target, entry(mixed, row >>> Segments.ROW_BITS));
    return row >>> Segments.ROW_BITS;
  }

  /** Removes an ended segment from the table and keeps it for another chain. */
  synchronized void free(int row, long hash) {
    long mixed = Segments.mix(hash);
    long entry = entry(mixed, row >>> Segments.ROW_BITS);
    long[] table = table(tables, number);
    int mask = table.length - 1;
    int i = home(mixed, table.length);
    while (table[i] != 0 && table[i] != entry) {
      i = (i + 1) & mask;
    }
    if (table[i] == entry) {
      live--;
      if (table[(i + 1) & mask] != 0) {
        Segments.LONGS.setRelease(table, i, REMOVED);
      } else {
        // The next entry is empty: this one, and the marks before it, need not be probed past any more.
        do {
          Segments.LONGS.setRelease(table, i, 0L);
          used--;
          i = (i - 1) & mask;
        } while (table[i] == REMOVED);
      }
    }
    segments.wipe(row);
    release(row);
  }

  /** The first row of an unused segment; {@link Segments#NONE} when the budget is reached. */
  private int allocate() {
    if (kept == 0) {
      return segments.allocate();
    }
    kept--;
    int row = free << Segments.ROW_BITS;
    free = segments.next(row);
    return row;
  }

  private void release(int row) {
    if (kept == MAX_KEPT) {
      segments.free(row);
    } else {
      kept++;
      segments.linkNext(row, free);
      free = row >>> Segments.ROW_BITS;
    }
  }

  /** The table, replaced first if it is too full. */
  private long[] roomy() {
    long[] table = table(tables, number);
    if (used < table.length / 4 * 3) {
      return table;
    }
    boolean wider = live >= table.length / 2 && budget.reserve((long) table.length * Long.BYTES);
    if (!wider && live > table.length / 4 * 3) {
      return table;
    }
    long[] replacement = new long[wider ? table.length * 2 : table.length];
    int mask = replacement.length - 1;
    for (long entry : table) {
      int segment = (int) entry;
      if (segment != Segments.NONE) {
        long mixed = Segments.mix(segments.hash(segment << Segments.ROW_BITS));
        int i = home(mixed, replacement.length);
        while (replacement[i] != 0) {
          i = (i + 1) & mask;
        }
        replacement[i] = entry;
      }
    }
    used = live;
    TABLES.setRelease(tables, number, replacement);
    return replacement;
  }
}
