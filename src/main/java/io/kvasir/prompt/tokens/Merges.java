package io.kvasir.prompt.tokens;

import java.util.Arrays;

/**
 * The merges of byte pair encoding: the pairs of ids that become one, and their ranks. Merging a word merges the pair
 * of lowest rank, the leftmost of several, until no pair can be merged.
 *
 * <p>The table is open-addressed, keyed by both ids in one long, half full at most; a value is the rank and, below it,
 * the merged id. Immutable once filled.
 */
final class Merges {
  private static final long NONE = Long.MAX_VALUE;

  /** The longest words, in bytes, that are merged by scanning all pairs each time; longer ones use a heap. */
  private static final int MAX_SCANNED = 48;

  private final long[] keys;
  private final long[] values;
  private final int shift;

  Merges(int count) {
    int bits = 33 - Integer.numberOfLeadingZeros(Math.max(count, 8));
    keys = new long[1 << bits];
    Arrays.fill(keys, -1);
    values = new long[1 << bits];
    shift = Long.SIZE - bits;
  }

  /** Of a pair given twice the later rank counts, as in the Hugging Face library. */
  void add(int left, int right, int rank, int merged) {
    long key = key(left, right);
    int slot = slot(key);
    while (keys[slot] != -1 && keys[slot] != key) {
      slot = (slot + 1) & (keys.length - 1);
    }
    keys[slot] = key;
    values[slot] = ((long) rank << Integer.SIZE) | merged;
  }

  private static long key(int left, int right) {
    return ((long) left << Integer.SIZE) | right;
  }

  private int slot(long key) {
    return (int) ((key * 0x9E3779B97F4A7C15L) >>> shift);
  }

  private long find(int left, int right) {
    long key = key(left, right);
    int slot = slot(key);
    while (true) {
      long stored = keys[slot];
      if (stored == key) {
        return values[slot];
      }
      if (stored == -1) {
        return NONE;
      }
      slot = (slot + 1) & (keys.length - 1);
    }
  }

  /** Merges {@code ids[0, count)} in place and returns how many ids are left. */
  int apply(int[] ids, int count) {
    return count <= MAX_SCANNED ? applyShort(ids, count) : new LongWord(ids, count).apply();
  }

  private int applyShort(int[] ids, int count) {
    long[] pairs = new long[count];
    for (int i = 0; i + 1 < count; i++) {
      pairs[i] = find(ids[i], ids[i + 1]);
    }
    int left = count;
    while (left > 1) {
      int best = 0;
      for (int i = 1; i < left - 1; i++) {
        if (pairs[i] < pairs[best]) {
          best = i;
        }
      }
      long pair = pairs[best];
      if (pair == NONE) {
        break;
      }
      ids[best] = (int) pair;
      left--;
      System.arraycopy(ids, best + 2, ids, best + 1, left - best - 1);
      System.arraycopy(pairs, best + 1, pairs, best, left - best);
      if (best > 0) {
        pairs[best - 1] = find(ids[best - 1], ids[best]);
      }
      if (best + 1 < left) {
        pairs[best] = find(ids[best], ids[best + 1]);
      }
    }
    return left;
  }

  /** A word as a linked list with its pairs in a heap: n log n, since a request may have a megabyte of one letter. */
  private final class LongWord {
    private final int[] ids;
    private final int[] next;
    private final int[] previous;
    private final long[] pairs;
    private long[] heap;
    private int size;

    LongWord(int[] ids, int count) {
      this.ids = ids;
      next = new int[count];
      previous = new int[count];
      pairs = new long[count];
      heap = new long[count];
      for (int i = 0; i < count; i++) {
        next[i] = i + 1 < count ? i + 1 : -1;
        previous[i] = i - 1;
        pairs[i] = NONE;
      }
      for (int i = 0; i + 1 < count; i++) {
        updatePair(i);
      }
    }

    private void updatePair(int at) {
      pairs[at] = next[at] < 0 ? NONE : find(ids[at], ids[next[at]]);
      if (pairs[at] != NONE) {
        push(((pairs[at] >>> Integer.SIZE) << Integer.SIZE) | at);
      }
    }

    int apply() {
      while (size > 0) {
        long top = pop();
        int at = (int) top;
        long pair = pairs[at];
        if (pair == NONE || pair >>> Integer.SIZE != top >>> Integer.SIZE) {
          continue;
        }
        int removed = next[at];
        ids[at] = (int) pair;
        pairs[removed] = NONE;
        next[at] = next[removed];
        if (next[at] >= 0) {
          previous[next[at]] = at;
        }
        updatePair(at);
        if (previous[at] >= 0) {
          updatePair(previous[at]);
        }
      }
      int left = 0;
      for (int at = 0; at >= 0; at = next[at]) {
        ids[left++] = ids[at];
      }
      return left;
    }

    private void push(long value) {
      if (size == heap.length) {
        heap = Arrays.copyOf(heap, 2 * size);
      }
      int at = size++;
      while (at > 0 && heap[(at - 1) / 2] > value) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
      }
      heap[at] = value;
    }

    private long pop() {
      long top = heap[0];
      long value = heap[--size];
      int at = 0;
      while (2 * at + 1 < size) {
        int child = 2 * at + 1;
        if (child + 1 < size && heap[child + 1] < heap[child]) {
          child++;
        }
        if (heap[child] >= value) {
          break;
        }
        heap[at] = heap[child];
        at = child;
      }
      heap[at] = value;
      return top;
    }
  }
}
