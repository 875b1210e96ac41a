package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Worker;
import java.util.function.Predicate;

/** Operations on bitmaps of slots. */
final class Bitmaps {
  static final long[] NONE = new long[0];

  private Bitmaps() {}

  /** A bitmap of the slots whose workers satisfy a condition. */
  static long[] of(Worker[] table, Predicate<Worker> condition) {
    long[] bitmap = new long[(table.length + 63) >>> 6];
    for (int slot = 0; slot < table.length; slot++) {
      if (table[slot] != null && condition.test(table[slot])) {
        bitmap[slot >>> 6] |= 1L << slot;
      }
    }
    return bitmap;
  }

  /** Removes every candidate that is in neither of two bitmaps of one table. */
  static void keep(Candidates candidates, long[] bitmap, long[] other) {
    long[] live = candidates.live;
    for (int i = 0; i < live.length; i++) {
      live[i] &= (i < bitmap.length ? bitmap[i] : 0) | (i < other.length ? other[i] : 0);
    }
  }

  /** Removes every candidate that is in the bitmap. */
  static void remove(Candidates candidates, long[] bitmap) {
    for (int i = 0; i < Math.min(bitmap.length, candidates.live.length); i++) {
      candidates.live[i] &= ~bitmap[i];
    }
  }

  /** Removes every candidate that is not in the bitmap. */
  static void keep(Candidates candidates, long[] bitmap) {
    long[] live = candidates.live;
    for (int i = 0; i < live.length; i++) {
      live[i] &= i < bitmap.length ? bitmap[i] : 0;
    }
  }
}
