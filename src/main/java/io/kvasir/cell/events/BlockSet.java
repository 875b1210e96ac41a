package io.kvasir.cell.events;

import io.kvasir.index.BlockHash;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Chain hashes of blocks, each with the number of its copies. One thread at a time writes; any thread looks, wait-free,
 * without allocation. What a look finds was so at some moment while it looked.
 *
 * <p>Open addressing with linear probes. A removed hash leaves a mark, so that no look ends before what was entered
 * behind it; the marks go when the table is made anew, which it is beside the old one.
 */
final class BlockSet {
  private static final VarHandle LONGS = MethodHandles.arrayElementVarHandle(long[].class);
  private static final int FEWEST = 16;
  private static final long EMPTY = BlockHash.NONE;

  /**
   * The most copies of engines' blocks that are counted, as of the prefix: a block with more counts as removed early,
   * not late.
   */
  static final int MAX_COPIES = 255;

  /** The mark. A block of this hash, one of 2^64, is never held. */
  private static final long REMOVED = -1;

  private final int mostCopies;
  private volatile long[] table = new long[FEWEST];
  private int[] copies = new int[FEWEST];
  private int size;
  private int marks;

  /** An empty one, of engines' blocks. */
  BlockSet() {
    this(MAX_COPIES);
  }

  /** An empty one that counts so many copies of a block. */
  BlockSet(int mostCopies) {
    this.mostCopies = mostCopies;
  }

  /** Whether a block is held. Any thread. */
  boolean contains(long hash) {
    long[] now = table;
    for (int at = home(hash, now); ; at = (at + 1) & (now.length - 1)) {
      long found = (long) LONGS.getAcquire(now, at);
      if (found == hash) {
        return hash != REMOVED && hash != EMPTY;
      }
      if (found == EMPTY) {
        return false;
      }
    }
  }

  /** The number of a block's copies. */
  int copies(long hash) {
    int at = find(hash);
    return at < 0 ? 0 : copies[at];
  }

  /** The number of blocks, copies not counted. */
  int size() {
    return size;
  }

  /** Adds a copy; where copies are not {@code counted}, only if there is none. */
  void add(long hash, boolean counted) {
    if (hash == REMOVED || hash == EMPTY) {
      return;
    }
    int at = find(hash);
    if (at >= 0) {
      copies[at] = counted ? Math.min(mostCopies, copies[at] + 1) : copies[at];
      return;
    }
    if (2 * (size + marks + 1) > table.length) {
      rebuild();
    }
    enter(table, copies, hash, 1);
    size++;
  }

  /** Removes a copy, or all where they are not {@code counted}; returns whether none is left. */
  boolean remove(long hash, boolean counted) {
    int at = find(hash);
    if (at < 0) {
      return true;
    }
    copies[at] = counted ? copies[at] - 1 : 0;
    if (copies[at] > 0) {
      return false;
    }
    LONGS.setRelease(table, at, REMOVED);
    size--;
    marks++;
    return true;
  }

  /** Removes everything. */
  void clear() {
    table = new long[FEWEST];
    copies = new int[FEWEST];
    size = 0;
    marks = 0;
  }

  private int find(long hash) {
    long[] now = table;
    for (int at = home(hash, now); ; at = (at + 1) & (now.length - 1)) {
      if (now[at] == hash) {
        return hash == REMOVED || hash == EMPTY ? -1 : at;
      }
      if (now[at] == EMPTY) {
        return -1;
      }
    }
  }

  /** Makes a table of a quarter's load without marks. */
  private void rebuild() {
    int length = Math.max(FEWEST, Integer.highestOneBit(4 * (size + 1)) << 1);
    long[] next = new long[length];
    int[] nextCopies = new int[length];
    for (int at = 0; at < table.length; at++) {
      if (table[at] != EMPTY && table[at] != REMOVED) {
        enter(next, nextCopies, table[at], copies[at]);
      }
    }
    copies = nextCopies;
    marks = 0;
    table = next;
  }

  private static void enter(long[] into, int[] counts, long hash, int count) {
    int at = home(hash, into);
    while (into[at] != EMPTY) {
      at = (at + 1) & (into.length - 1);
    }
    counts[at] = count;
    LONGS.setRelease(into, at, hash);
  }

  private static int home(long hash, long[] slots) {
    return (int) ((hash * 0x9E3779B97F4A7C15L) >>> 32) & (slots.length - 1);
  }
}
