package io.kvasir.index;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;

/**
 * The memory of rows: flat chunks that never move, divided into segments of {@value #ROWS} rows.
 *
 * <p>A segment holds consecutive blocks of one chain, from its first row on. In longs, for an index of
 * {@code w} words of slots:
 *
 * <pre>
 *   16 × [ hash | bits × w ]   rows; hash 0 = not claimed yet
 *   [ version:44 | count:20 ]  state
 *   [ next ]                   the segment after it, a hint only
 * </pre>
 *
 * <p>State and link are next to the last row because a search that passes through a segment reads just these three.
 *
 * <p><b>count</b> is the number of bits set in the segment's rows, plus what writers have pinned while
 * they set more. It may rise only from above 0; the thread that takes it to 0 wipes the segment. So the owner of a bit
 * in a segment, or of a pin, may rely on its rows' hashes.
 *
 * <p><b>version</b> rises before a segment is wiped and again when it is started for another chain: what was read
 * between two reads of one version belongs to one generation, in which a row's hash goes from 0 to one value and stays,
 * or to the time between two generations, in which no row has a bit. (Were it to rise but once, a reader could combine
 * a hash that is about to be wiped with bits of the next generation.)
 *
 * <p>Segments and rows are named by positive ints: a row is its segment's name × 16 + its place. 0 is
 * none. All methods are lock-free but {@link #allocate} and {@link #free}.
 */
final class Segments {
  static final int ROWS = 16;
  static final int ROW_BITS = 4;
  static final int PLACE = ROWS - 1;
  static final int NONE = 0;

  /** The first segment's name: the first chunk stays empty, so that none is named 0. */
  static final int FIRST = 64;

  static final VarHandle LONGS =
      MethodHandles.arrayElementVarHandle(long[].class).withInvokeExactBehavior();

  private static final long PHI = 0x9E3779B97F4A7C15L;
  private static final int CHUNK_BITS = 6;
  private static final int CHUNK = 1 << CHUNK_BITS;
  private static final int MAX_CHUNKS = 1 << (31 - CHUNK_BITS - ROW_BITS);
  private static final long COUNT = (1L << 20) - 1;
  private static final int VERSION_SHIFT = 20;

  private final int width;
  private final int rowLongs;
  private final int segmentLongs;
  private final Budget budget;
  private volatile long[][] chunks = new long[16][];
  private int end = FIRST;
  private int free = NONE; // unused segments, linked by their next links

  /** Rows for {@code width} words of slots. */
  Segments(int width, Budget budget) {
    this.width = width;
    this.rowLongs = 1 + width;
    this.segmentLongs = ROWS * rowLongs + 2;
    this.budget = budget;
  }

  /** A hash times 2⁶⁴/φ: its upper bits depend on all of the hash's. */
  static long mix(long hash) {
    return hash * PHI;
  }

  /** The index at which a table by rows, of a power of two's length, begins to probe: adjacent for a segment's rows. */
  static int home(int row, int length) {
    // The segments of a worker's rows form a pattern, which one multiplication would keep.
    long mixed = mix(row >>> ROW_BITS);
    mixed = mix(mixed ^ (mixed >>> 32));
    return ((int) (mixed >>> Long.numberOfLeadingZeros(length - 1L)) + (row & PLACE)) & (length - 1);
  }

  int width() {
    return width;
  }

  /** The first row of an unused segment; {@link #NONE} when the budget is reached. */
  synchronized int allocate() {
    if (free != NONE) {
      int row = free << ROW_BITS;
      free = next(row);
      return row;
    }
    if (end % CHUNK == 0 && !addChunk(end / CHUNK)) {
      return NONE;
    }
    return end++ << ROW_BITS;
  }

  /** Returns a wiped segment to the unused ones. */
  synchronized void free(int row) {
    linkNext(row, free);
    free = row >>> ROW_BITS;
  }

  private boolean addChunk(int number) {
    if (number == MAX_CHUNKS) {
      return false;
    }
    int longs = CHUNK * segmentLongs;
    boolean full = number == chunks.length;
    long directory = full ? (long) number * Long.BYTES : 0;
    if (!budget.reserve(Budget.arrayOf(longs) + directory)) {
      return false;
    }
    long[][] all = full ? Arrays.copyOf(chunks, number * 2) : chunks;
    all[number] = new long[longs];
    chunks = all;
    return true;
  }

  /** One more than the last segment's name. */
  synchronized int end() {
    return end;
  }

  // The address of a row is its chunk and the index of its hash there; its bits follow the hash.

  long[] chunkOf(int row) {
    return chunks[row >>> (ROW_BITS + CHUNK_BITS)];
  }

  int segmentAt(int row) {
    return ((row >>> ROW_BITS) & (CHUNK - 1)) * segmentLongs;
  }

  int at(int row) {
    return segmentAt(row) + (row & PLACE) * rowLongs;
  }

  int rowLongs() {
    return rowLongs;
  }

  private int stateAt(int row) {
    return segmentAt(row) + ROWS * rowLongs;
  }

  long hash(int row) {
    return (long) LONGS.getAcquire(chunkOf(row), at(row));
  }

  /**
   * Claims a row for a hash, unless it is claimed. The caller has a bit or a pin in its segment.
   *
   * @return the hash the row has now
   */
  long claim(int row, long hash) {
    long witness = (long) LONGS.compareAndExchange(chunkOf(row), at(row), 0L, hash);
    return witness == 0 ? hash : witness;
  }

  long bits(int row, int word) {
    return (long) LONGS.getAcquire(chunkOf(row), at(row) + 1 + word);
  }

  /** Sets a worker's bit, which nobody else changes meanwhile; false when it was set before. */
  static boolean set(long[] chunk, int at, long bit) {
    if (((long) LONGS.getAcquire(chunk, at) & bit) != 0) {
      return false;
    }
    long _ = (long) LONGS.getAndAdd(chunk, at, bit);
    return true;
  }

  /** Sets a bit on a row of a pinned segment; false when it was set before. */
  boolean set(int row, int word, long bit) {
    return set(chunkOf(row), at(row) + 1 + word, bit);
  }

  /** Clears bits; returns how many of them were set before. */
  int clear(int row, int word, long bits) {
    long[] chunk = chunkOf(row);
    int at = at(row) + 1 + word;
    if (((long) LONGS.getAcquire(chunk, at) & bits) == 0) {
      return 0;
    }
    return Long.bitCount((long) LONGS.getAndBitwiseAnd(chunk, at, ~bits) & bits);
  }

  /** Clears a worker's bit, which nobody else changes meanwhile; false when it was clear before. */
  boolean unset(int row, int word, long bit) {
    long[] chunk = chunkOf(row);
    int at = at(row) + 1 + word;
    if (((long) LONGS.getAcquire(chunk, at) & bit) == 0) {
      return false;
    }
    long _ = (long) LONGS.getAndAdd(chunk, at, -bit);
    return true;
  }

  /** The state of a row's segment, for {@link #sameGeneration}. */
  long state(int row) {
    return (long) LONGS.getAcquire(chunkOf(row), stateAt(row));
  }

  static boolean sameGeneration(long state, long other) {
    return ((state ^ other) >>> VERSION_SHIFT) == 0;
  }

  /** Pins a row's segment, in which the caller has a bit or a pin already. */
  void pin(int row, int pins) {
    long _ = (long) LONGS.getAndAdd(chunkOf(row), stateAt(row), (long) pins);
  }

  /** Pins a row's segment; false when it has ended. */
  boolean tryPin(int row, int pins) {
    long[] chunk = chunkOf(row);
    int at = stateAt(row);
    long state = (long) LONGS.getAcquire(chunk, at);
    while ((state & COUNT) != 0) {
      long witness = (long) LONGS.compareAndExchange(chunk, at, state, state + pins);
      if (witness == state) {
        return true;
      }
      state = witness;
    }
    return false;
  }

  /** Takes pins, or cleared bits, off the count. True when that ended the segment: the caller then wipes it. */
  boolean unpin(int row, int pins) {
    return ((long) LONGS.getAndAdd(chunkOf(row), stateAt(row), -(long) pins) & COUNT) == pins;
  }

  boolean isAlive(int row) {
    return (state(row) & COUNT) != 0;
  }

  /** Starts a segment, pinned, with a hash in its first row: a new generation. */
  void start(int row, long hash, int pins) {
    long[] chunk = chunkOf(row);
    LONGS.setRelease(chunk, segmentAt(row), hash);
    begin(chunk, stateAt(row), pins);
  }

  /** Starts a segment with a worker's bit on its first rows: a new generation. */
  void start(int row, long[] hashes, int from, int count, int word, long bit) {
    long[] chunk = chunkOf(row);
    int at = segmentAt(row);
    for (int i = from; i < from + count; i++, at += rowLongs) {
      chunk[at] = hashes[i];
      chunk[at + 1 + word] = bit;
    }
    begin(chunk, stateAt(row), count);
  }

  private static void begin(long[] chunk, int at, int count) {
    LONGS.setRelease(chunk, at + 1, (long) NONE);
    long version = ((long) LONGS.getAcquire(chunk, at) >>> VERSION_SHIFT) + 1;
    LONGS.setVolatile(chunk, at, (version << VERSION_SHIFT) | count);
  }

  /**
   * Ends a segment whose only bits are a worker's, on all of the given rows, and which nobody has pinned. True when
   * that ended it: the caller then wipes it, and the bits with it.
   *
   * @param rows as many rows of the segment, from {@code from} on
   */
  boolean end(int[] rows, int from, int count, int word, long bit) {
    long[] chunk = chunkOf(rows[from]);
    int at = stateAt(rows[from]);
    long state = (long) LONGS.getAcquire(chunk, at);
    if ((state & COUNT) != count) {
      return false;
    }
    int held = 0;
    for (int i = from; i < from + count; i++) {
      int place = rows[i] & PLACE;
      if (((long) LONGS.getAcquire(chunk, at(rows[i]) + 1 + word) & bit) != 0) {
        held |= 1 << place;
      }
    }
    return Integer.bitCount(held) == count && LONGS.compareAndSet(chunk, at, state, state - count);
  }

  /** Ends a segment's generation: raises its version, then clears its rows. */
  void wipe(int row) {
    long[] chunk = chunkOf(row);
    int at = stateAt(row);
    long version = ((long) LONGS.getAcquire(chunk, at) >>> VERSION_SHIFT) + 1;
    LONGS.setVolatile(chunk, at, version << VERSION_SHIFT);
    VarHandle.storeStoreFence();
    for (int i = segmentAt(row); i < at; i++) {
      chunk[i] = 0;
    }
  }

  /** The segment after a row's, possibly outdated; {@link #NONE} if none is known. */
  int next(int row) {
    return (int) (long) LONGS.getAcquire(chunkOf(row), stateAt(row) + 1);
  }

  /** Links a segment in which the caller has a bit to the one after it, or a free one to the next free one. */
  void linkNext(int row, int segment) {
    LONGS.setRelease(chunkOf(row), stateAt(row) + 1, (long) segment);
  }
}
