package io.kvasir.index;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The writers' side of one shard: allocates and frees the segments whose first hash belongs to it, under its own
 * monitor. Both are short and concern whole segments only; a row or a bit is set without the monitor.
 *
 * <p>The shard's table has buckets of {@value #BUCKET} longs: the {@link Tags}, then the names of {@value Tags#SLOTS}
 * segments, two in a long. Whoever finds a tag finds the name that was written before it, and compares the first row's
 * hash, since the slot may have been given to another segment meanwhile.
 */
final class Shard extends CacheLinePadding {
  private static final VarHandle TABLES = MethodHandles.arrayElementVarHandle(long[][].class);
  private static final int BUCKET = 4; // longs
  private static final int KEYS = 4; // of a bucket, on average at most
  private static final int ABSENT = -1;

  /** The longs of an empty shard's table. */
  static final int LEAST = 4 * BUCKET;

  /** Unused segments kept for this shard: few, since there are many shards. */
  private static final int MAX_KEPT = 2;

  private final int number;
  private final long[][] tables;
  private final Segments segments;
  private final Budget budget;
  private int live;
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
    tables[number] = empty(LEAST);
  }

  private static long[] empty(int length) {
    long[] table = new long[length];
    for (int bucket = 0; bucket < length; bucket += BUCKET) {
      table[bucket] = Tags.NONE;
    }
    return table;
  }

  /** A shard's table, among those of all shards. */
  static long[] table(long[][] tables, int shard) {
    return (long[]) TABLES.getAcquire(tables, shard);
  }

  /** The index of a mixed hash's home bucket in a table. */
  static int home(long mixed, int length) {
    return (int) Math.unsignedMultiplyHigh(mixed << 8, length / BUCKET) * BUCKET;
  }

  private static int next(int bucket, int length) {
    int next = bucket + BUCKET;
    return next < length ? next : 0;
  }

  private static int segment(long[] table, int bucket, int slot) {
    long pair = (long) Segments.LONGS.getAcquire(table, bucket + 1 + (slot >>> 1));
    return (int) (pair >>> (slot << 5));
  }

  private static void setSegment(long[] table, int bucket, int slot, int segment) {
    int at = bucket + 1 + (slot >>> 1);
    int shift = slot << 5;
    long other = table[at] & ~(0xFFFFFFFFL << shift);
    Segments.LONGS.setRelease(table, at, other | ((long) segment << shift));
  }

  /** As {@link Shards#find}. */
  static int find(long[][] tables, Segments segments, long hash) {
    long mixed = Segments.mix(hash);
    long[] table = table(tables, of(mixed));
    long tag = Tags.of(mixed);
    int home = home(mixed, table.length);
    int bucket = home;
    do {
      long tags = (long) Segments.LONGS.getAcquire(table, bucket);
      for (long same = Tags.same(tags, tag); same != 0; same = Tags.rest(same)) {
        int segment = segment(table, bucket, Tags.first(same));
        if (segments.hash(segment << Segments.ROW_BITS) == hash) {
          return segment;
        }
      }
      if (!Tags.isPassed(tags)) {
        return Segments.NONE;
      }
      bucket = next(bucket, table.length);
    } while (bucket != home);
    return Segments.NONE;
  }

  /** The number of the shard of a mixed hash. */
  static int of(long mixed) {
    return (int) (mixed >>> 56);
  }

  /**
   * Pins the segment that begins with a block, or starts one with the worker's bits and as many of the blocks after it
   * as begin no segment of their own.
   *
   * @param count the blocks that may be placed in it, at most {@link Segments#ROWS}
   * @param bit the worker's bit; 0 to start a segment of one row without a bit, pinned {@code count} times
   * @return the segment, and in the upper half how many rows were started with the bit: 0 when it was there before, and
   *     was pinned {@code count} times; {@link Segments#NONE} when the budget is reached
   */
  synchronized long open(long[] hashes, int from, int count, int word, long bit) {
    long hash = hashes[from];
    int there = find(tables, segments, hash);
    if (there != Segments.NONE && segments.tryPin(there << Segments.ROW_BITS, count)) {
      return there;
    }
    long[] table = there == Segments.NONE ? roomy() : table(tables, number);
    if (live == table.length / BUCKET * Tags.SLOTS && there == Segments.NONE) {
      return Segments.NONE;
    }
    int row = allocate();
    if (row == Segments.NONE) {
      return Segments.NONE;
    }
    int filled = start(row, hashes, from, count, word, bit);
    int segment = row >>> Segments.ROW_BITS;
    if (there == Segments.NONE) {
      enter(table, Segments.mix(hash), segment);
      live++;
    } else {
      // It has ended and is about to be freed under this monitor. Its successor gets its slot.
      int place = placeOf(table, Segments.mix(hash), there);
      setSegment(table, place >>> 3, place & 7, segment);
    }
    return ((long) filled << 32) | segment;
  }

  /** Starts a segment, which nobody finds yet; returns how many rows have the bit. */
  private int start(int row, long[] hashes, int from, int count, int word, long bit) {
    if (bit == 0) {
      segments.start(row, hashes[from], count);
      return 0;
    }
    // While the monitor is held there is no other segment in which the blocks could be placed meanwhile.
    int filled = 1;
    while (filled < count
        && hashes[from + filled] != hashes[from]
        && find(tables, segments, hashes[from + filled]) == Segments.NONE) {
      filled++;
    }
    segments.start(row, hashes, from, filled, word, bit);
    return filled;
  }

  /** Enters a segment into a table that has an unused slot. It is found when this returns, and not before. */
  private static void enter(long[] table, long mixed, int segment) {
    int home = home(mixed, table.length);
    int bucket = home;
    while (Tags.unused(table[bucket]) == 0) {
      bucket = next(bucket, table.length);
    }
    int slot = Tags.first(Tags.unused(table[bucket]));
    setSegment(table, bucket, slot, segment);
    Segments.LONGS.setRelease(table, bucket, Tags.with(table[bucket], slot, Tags.of(mixed)));
    for (int passed = home; passed != bucket; passed = next(passed, table.length)) {
      Segments.LONGS.setRelease(table, passed, Tags.pass(table[passed]));
    }
  }

  /** The place of a segment in a table: eight times its bucket's index, plus its slot; absent if it is not there. */
  private static int placeOf(long[] table, long mixed, int segment) {
    int home = home(mixed, table.length);
    int bucket = home;
    do {
      for (long same = Tags.same(table[bucket], Tags.of(mixed)); same != 0; same = Tags.rest(same)) {
        if (segment(table, bucket, Tags.first(same)) == segment) {
          return (bucket << 3) + Tags.first(same);
        }
      }
      bucket = next(bucket, table.length);
    } while (bucket != home);
    return ABSENT;
  }

  /** Removes an ended segment from the table and keeps it for another chain. */
  synchronized void free(int row, long hash) {
    long mixed = Segments.mix(hash);
    long[] table = table(tables, number);
    int place = placeOf(table, mixed, row >>> Segments.ROW_BITS);
    if (place != ABSENT) {
      live--;
      int bucket = place >>> 3;
      Segments.LONGS.setRelease(table, bucket, Tags.without(table[bucket], place & 7));
      for (int passed = home(mixed, table.length); passed != bucket; passed = next(passed, table.length)) {
        Segments.LONGS.setRelease(table, passed, Tags.unpass(table[passed]));
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

  /** The table, replaced by one of twice the size first if it is too full and the budget allows it. */
  private long[] roomy() {
    long[] table = table(tables, number);
    int buckets = table.length / BUCKET;
    if (live < buckets * KEYS || !budget.reserve((long) table.length * Long.BYTES)) {
      return table;
    }
    long[] wider = empty(2 * table.length);
    for (int bucket = 0; bucket < table.length; bucket += BUCKET) {
      for (int slot = 0; slot < Tags.SLOTS; slot++) {
        if (Tags.isUsed(table[bucket], slot)) {
          int segment = segment(table, bucket, slot);
          enter(wider, Segments.mix(segments.hash(segment << Segments.ROW_BITS)), segment);
        }
      }
    }
    TABLES.setRelease(tables, number, wider);
    return wider;
  }
}
