package io.kvasir.index;

/**
 * The tables that lead into a chain: the hash of every segment's first row, in {@value #COUNT} shards.
 *
 * <p>A hash's shard, its place in the shard's table and the tag kept there come from one product with
 * 2⁶⁴/φ (Fibonacci hashing, Knuth, TAOCP 3, 6.4): chained hashes made by other tools may have
 * structure. A table is an array of {@code tag:32 | segment:32}, probed linearly. Readers take no lock:
 * entries never move within an array, a removed one leaves a mark that only an insertion replaces, and
 * an array that is too full is replaced as a whole. The references to the arrays stand together, apart
 * from what writers change at every new segment: they stay in every reader's cache.
 */
final class Shards {
  static final int COUNT = 256;

  private static final int TABLE = 16;

  private final Segments segments;
  private final Shard[] shards = new Shard[COUNT];
  private final long[][] tables = new long[COUNT][];

  Shards(Segments segments, Budget budget) {
    this.segments = segments;
    for (int i = 0; i < COUNT; i++) {
      tables[i] = new long[TABLE];
      shards[i] = new Shard(i, tables, segments, budget);
    }
    if (!budget.reserve(COUNT * Budget.arrayOf(TABLE))) {
      throw new IllegalArgumentException(
          "budgetBytes: an empty index takes " + COUNT * Budget.arrayOf(TABLE) + " bytes, allow more");
    }
  }

  private static int shard(long mixed) {
    return (int) (mixed >>> 56);
  }

  /** The segment that begins with a block, as of some moment during the call; {@link Segments#NONE} if none does. */
  int find(long hash) {
    long mixed = Segments.mix(hash);
    long[] table = table(shard(mixed));
    int mask = table.length - 1;
    for (int i = Shard.home(mixed, table.length); ; i = (i + 1) & mask) {
      long entry = (long) Segments.LONGS.getAcquire(table, i);
      if (entry == 0) {
        return Segments.NONE;
      }
      int segment = (int) entry;
      if (entry == Shard.entry(mixed, segment)
          && segment != Segments.NONE
          && segments.hash(segment << Segments.ROW_BITS) == hash) {
        return segment;
      }
    }
  }

  /**
   * The row that may hold the block after a row, {@link Segments#NONE} if none does. A hint unless the caller has a bit
   * there, or finds that it {@link Rows#has has} one.
   */
  int after(int previous, long hash) {
    if (previous != Segments.NONE) {
      boolean last = (previous & Segments.PLACE) == Segments.PLACE;
      int row = last ? segments.next(previous) << Segments.ROW_BITS : previous + 1;
      if (row != Segments.NONE && segments.hash(row) == hash) {
        return row;
      }
    }
    return find(hash) << Segments.ROW_BITS;
  }

  /** Prefetches the cache line where a hash would be found. */
  void touch(long hash) {
    long mixed = Segments.mix(hash);
    long[] table = table(shard(mixed));
    long _ = (long) Segments.LONGS.getAcquire(table, Shard.home(mixed, table.length));
  }

  /**
   * Prefetches the cache lines where a batch of hashes would be found, in parallel instead of one after the other.
   * Returns what it read: the caller stores it, or the compiler would eliminate the loads.
   */
  long touch(long[] hashes, int from, int count) {
    long seen = 0;
    for (int i = from; i < from + count; i++) {
      long mixed = Segments.mix(hashes[i]);
      long[] table = table(shard(mixed));
      seen += table[Shard.home(mixed, table.length)];
    }
    return seen;
  }

  /**
   * Pins the segment that begins with a block, and allocates it if there is none.
   *
   * @return {@link Segments#NONE} when the budget is reached
   */
  int pinned(long hash, int pins) {
    int segment = find(hash);
    if (segment != Segments.NONE) {
      int row = segment << Segments.ROW_BITS;
      if (segments.tryPin(row, pins)) {
        if (segments.hash(row) == hash) {
          return segment;
        }
        unpin(row, pins);
      }
    }
    return shards[shard(Segments.mix(hash))].pinned(hash, pins);
  }

  /** Takes pins, or bits that were cleared, off a segment's count, and frees it when they were the last. */
  void unpin(int row, int pins) {
    if (pins != 0 && segments.unpin(row, pins)) {
      int first = row & ~Segments.PLACE;
      long hash = segments.hash(first);
      shards[shard(Segments.mix(hash))].free(first, hash);
    }
  }

  private long[] table(int shard) {
    return Shard.table(tables, shard);
  }
}
