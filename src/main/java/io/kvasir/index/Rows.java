package io.kvasir.index;

/**
 * The rows of blocks, as writers use them: finds or claims the row of each block of a chain and sets a worker's bit
 * there, clears bits, and sweeps whole slots.
 *
 * <p>There is one row per block. A block's row is the place after its parent's row, if that is in the
 * segment still and free or claimed for it; else it begins a segment, found through {@link Shards}.
 * A free place is claimed only when no segment begins with the block: one may be left from a time when
 * another block had the place, while the parent's own segment has ended and come again since.
 *
 * <p>Thread-safe; lock-free but for new segments.
 */
final class Rows {
  /** Marks a row in which the worker's bit was not set before. */
  static final int FRESH = 1 << 31;

  private final Segments segments;
  private final Shards shards;

  Rows(Segments segments, Shards shards) {
    this.segments = segments;
    this.shards = shards;
  }

  /**
   * Sets a worker's bit on the rows of {@code count} blocks that follow one another.
   *
   * @param parent the row before the first of them, which holds the bit too; {@link Segments#NONE} for a root
   * @param rows receives each block's row, with {@link #FRESH} where the bit was not set before
   * @return how many were placed; less than {@code count} only when the budget is reached
   */
  int place(int parent, long[] hashes, int from, int count, int word, long bit, int[] rows) {
    int previous = parent;
    int done = 0;
    while (done < count) {
      int wanted = count - done;
      long opened = open(previous, hashes, from + done, wanted, word, bit);
      int row = (int) opened;
      if (row == Segments.NONE) {
        break;
      }
      int run = (int) (opened >>> 32);
      if (run > 0) {
        for (int i = 0; i < run; i++) {
          rows[done + i] = (row + i) | FRESH;
        }
      } else {
        int pins = pins(row, wanted);
        run = mark(row, pins, hashes, from + done, word, bit, rows, done);
        int fresh = 0;
        for (int i = done; i < done + run; i++) {
          fresh -= rows[i] >> 31;
        }
        shards.unpin(row, pins - fresh);
      }
      done += run;
      previous = row + run - 1;
    }
    return done;
  }

  /** Sets the bit on a pinned run of rows as far as they are those of the blocks; returns how many were. */
  private int mark(int row, int length, long[] hashes, int from, int word, long bit, int[] rows, int to) {
    long[] chunk = segments.chunkOf(row);
    int at = segments.at(row);
    for (int i = 0; i < length; i++, at += segments.rowLongs()) {
      long hash = hashes[from + i];
      long found = (long) Segments.LONGS.getAcquire(chunk, at);
      if (found != hash && (found != 0 || !claims(row + i, hash))) {
        return i;
      }
      rows[to + i] = Segments.set(chunk, at + 1 + word, bit) ? (row + i) | FRESH : row + i;
    }
    return length;
  }

  /** As {@link Shards#touch(long[], int, int)}: before new blocks are {@link #place placed}, faster than one by one. */
  long touch(long[] hashes, int from, int count) {
    return shards.touch(hashes, from, count);
  }

  /** The row at a place of the segment that begins with a block; {@link Segments#NONE} if none does. */
  int find(long first, int place) {
    int segment = shards.find(first);
    return segment == Segments.NONE ? Segments.NONE : (segment << Segments.ROW_BITS) + place;
  }

  /** As {@link Shards#after}. */
  int after(int previous, long hash) {
    return shards.after(previous, hash);
  }

  /**
   * The row of a block that follows {@code previous}, claimed but without the worker's bit, and its segment pinned
   * once so that more can be placed after it; {@link Segments#NONE} when the budget is reached.
   */
  int claim(int previous, long[] hashes, int from) {
    return (int) open(previous, hashes, from, 1, 0, 0);
  }

  /** Sets the worker's bit on a row that it {@link #claim claimed}: the pin becomes the bit's. */
  void publish(int row, int word, long bit) {
    if (!Segments.set(segments.chunkOf(row), segments.at(row) + 1 + word, bit)) {
      shards.unpin(row, 1);
    }
  }

  /** Whether a worker's bit is set on a row. */
  boolean has(int row, int word, long bit) {
    return (segments.bits(row, word) & bit) != 0;
  }

  /**
   * The number of blocks, of those from {@code from} on, that have their rows one after the other from {@code row} on,
   * in its segment and with the worker's bit; 0 when there is no row.
   */
  int held(int row, long[] hashes, int from, int to, int word, long bit) {
    if (row == Segments.NONE) {
      return 0;
    }
    long[] chunk = segments.chunkOf(row);
    int at = segments.at(row);
    int length = pins(row, to - from);
    for (int i = 0; i < length; i++, at += segments.rowLongs()) {
      if ((long) Segments.LONGS.getAcquire(chunk, at) != hashes[from + i]
          || ((long) Segments.LONGS.getAcquire(chunk, at + 1 + word) & bit) == 0) {
        return i;
      }
    }
    return length;
  }

  /** Clears a worker's bit on rows; fastest when those of a segment are adjacent. */
  void release(int[] rows, int count, int word, long bit) {
    int from = 0;
    while (from < count) {
      int row = rows[from];
      int to = from + 1;
      while (to < count && ((rows[to] ^ row) & ~Segments.PLACE) == 0) {
        to++;
      }
      if (segments.end(rows, from, to - from, word, bit)) {
        shards.free(row);
      } else {
        int cleared = 0;
        for (int i = from; i < to; i++) {
          cleared += segments.unset(rows[i], word, bit) ? 1 : 0;
        }
        shards.unpin(row, cleared);
      }
      from = to;
    }
  }

  /**
   * Clears the bits of retired workers on every row.
   *
   * @param bits the bits to clear, by word
   */
  void sweep(long[] bits) {
    int end = segments.end();
    for (int segment = Segments.FIRST; segment < end; segment++) {
      int first = segment << Segments.ROW_BITS;
      if (segments.isAlive(first)) {
        int cleared = 0;
        for (int row = first; row < first + Segments.ROWS; row++) {
          for (int word = 0; word < bits.length; word++) {
            cleared += bits[word] == 0 ? 0 : segments.clear(row, word, bits[word]);
          }
        }
        shards.unpin(first, cleared);
      }
    }
  }

  /** The number of rows with any bit set. */
  long count() {
    long count = 0;
    int end = segments.end();
    for (int segment = Segments.FIRST; segment < end; segment++) {
      int first = segment << Segments.ROW_BITS;
      for (int row = first; segments.isAlive(first) && row < first + Segments.ROWS; row++) {
        for (int word = 0; word < segments.width(); word++) {
          if (segments.bits(row, word) != 0) {
            count++;
            break;
          }
        }
      }
    }
    return count;
  }

  /**
   * The row of the block after {@code previous}: claimed, and its segment pinned once for each row that may be set; or,
   * when it begins a new segment and {@code bit} is not 0, started as {@link Shards#open} describes.
   *
   * @return the row, and in the upper half how many rows have the bit already
   */
  private long open(int previous, long[] hashes, int from, int wanted, int word, long bit) {
    long hash = hashes[from];
    boolean inside = previous != Segments.NONE && (previous & Segments.PLACE) != Segments.PLACE;
    // The worker's own bit on the previous row keeps that segment alive.
    if (inside && claims(previous + 1, hash)) {
      segments.pin(previous + 1, pins(previous + 1, wanted));
      return previous + 1L;
    }
    boolean last = previous != Segments.NONE && !inside;
    if (last) {
      int next = segments.next(previous) << Segments.ROW_BITS;
      if (next != Segments.NONE && segments.tryPin(next, pins(next, wanted))) {
        if (segments.hash(next) == hash) {
          return next;
        }
        shards.unpin(next, pins(next, wanted));
      }
    }
    long opened = shards.open(hashes, from, pins(0, wanted), word, bit);
    int segment = (int) opened;
    if (last && segment != Segments.NONE) {
      segments.linkNext(previous, segment);
    }
    return (opened & ~0xFFFFFFFFL) | (segment << Segments.ROW_BITS);
  }

  /** Whether a row of a segment that the caller has pinned is a block's, claimed for it now if need be. */
  boolean claims(int row, long hash) {
    long found = segments.hash(row);
    if (found == 0 && shards.find(hash) == Segments.NONE) {
      found = segments.claim(row, hash);
    }
    return found == hash;
  }

  private static int pins(int row, int wanted) {
    return Math.min(Segments.ROWS - (row & Segments.PLACE), wanted);
  }
}
