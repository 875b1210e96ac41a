package io.kvasir.index;

/**
 * The tables that lead into a chain: the hash of every segment's first row, in {@value #COUNT} shards.
 *
 * <p>A hash's shard, its bucket in the shard's table and its tag there come from one product with 2⁶⁴/φ (Fibonacci
 * hashing, Knuth, TAOCP 3, 6.4): chained hashes made by other tools may have structure. Readers take no lock: segments
 * never move within a table, and one that is too full is replaced as a whole. The references to the tables stand
 * together, apart from what writers change at every new segment: they stay in every reader's cache.
 */
final class Shards {
  static final int COUNT = 256;

  private final Segments segments;
  private final Shard[] shards = new Shard[COUNT];
  private final long[][] tables = new long[COUNT][];

  Shards(Segments segments, Budget budget) {
    this.segments = segments;
    for (int i = 0; i < COUNT; i++) {
      shards[i] = new Shard(i, tables, segments, budget);
    }
    long bytes = COUNT * Budget.arrayOf(Shard.LEAST);
    if (!budget.reserve(bytes)) {
      throw new IllegalArgumentException("budgetBytes: an empty index takes " + bytes + " bytes, allow more");
    }
  }

  /** The segment that begins with a block, as of some moment during the call; {@link Segments#NONE} if none does. */
  int find(long hash) {
    return Shard.find(tables, segments, hash);
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
    long[] table = Shard.table(tables, Shard.of(mixed));
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
      long[] table = Shard.table(tables, Shard.of(mixed));
      seen += table[Shard.home(mixed, table.length)];
    }
    return seen;
  }

  /**
   * Pins the segment that begins with a block, and allocates it if there is none.
   *
   * @return {@link Segments#NONE} when the budget is reached
   */
  int pinned(long[] hashes, int from, int pins) {
    return (int) open(hashes, from, pins, 0, 0);
  }

  /**
   * Pins the segment that begins with a block, or starts it with a worker's blocks, as {@link Shard#open} describes.
   * Nothing is locked when it is there.
   */
  long open(long[] hashes, int from, int count, int word, long bit) {
    long hash = hashes[from];
    int segment = find(hash);
    if (segment != Segments.NONE) {
      int row = segment << Segments.ROW_BITS;
      if (segments.tryPin(row, count)) {
        if (segments.hash(row) == hash) {
          return segment;
        }
        unpin(row, count);
      }
    }
    return shards[Shard.of(Segments.mix(hash))].open(hashes, from, count, word, bit);
  }

  /** Takes pins, or bits that were cleared, off a segment's count, and frees it when they were the last. */
  void unpin(int row, int pins) {
    if (pins != 0 && segments.unpin(row, pins)) {
      free(row);
    }
  }

  /** Frees the segment of a row, which the caller has ended. */
  void free(int row) {
    int first = row & ~Segments.PLACE;
    long hash = segments.hash(first);
    shards[Shard.of(Segments.mix(hash))].free(first, hash);
  }
}
