package io.kvasir.index;

import java.util.Arrays;
import java.util.Iterator;
import java.util.NoSuchElementException;

/**
 * The blocks that one worker holds, part by part, for a worker of another index. Keys and copies are those of the
 * moment when this was made (24 bytes a key for as long as it exists); the blocks' hashes are read as the parts are
 * made, so the worker must hold its blocks until the last part: its writer has to wait. Readers and other workers'
 * writers need not.
 *
 * <p>Runs are the index's segments, each after its predecessor where that is known. One thread at a time.
 */
public final class HandOver implements Iterator<Holdings> {
  /** Blocks in a part: some 30 kB, which fits a cluster message and takes less than a millisecond. */
  private static final int PART = 1024;

  private final Segments segments;
  private final long[] order; // row << 32 | number of the key
  private final long[] keys;
  private final int[] copies;
  private final Iterator<Holdings> after;

  // Runs, by segment: where each begins in the order, and its predecessor.
  private final int[] names;
  private final int[] runStarts;
  private final int[] before;
  private final int[] runOrder; // runs in the order in which they are emitted
  private int emitted;

  /**
   * A handover of rows.
   *
   * @param order each row, shifted by 32 bits, with the number of a key
   * @param keys none, or as many as rows
   * @param after parts that follow the blocks
   */
  private HandOver(Segments segments, long[] order, long[] keys, int[] copies, Iterator<Holdings> after) {
    this.segments = segments;
    this.order = order;
    this.keys = keys;
    this.copies = copies;
    this.after = after;
    Arrays.sort(order);
    int[] starts = new int[order.length + 1];
    int runs = 0;
    for (int i = 0; i < order.length; i++) {
      if (i == 0 || segment(i) != segment(i - 1)) {
        starts[runs++] = i;
      }
    }
    starts[runs] = order.length;
    this.runStarts = Arrays.copyOf(starts, runs + 1);
    this.names = new int[runs];
    for (int run = 0; run < runs; run++) {
      names[run] = segment(runStarts[run]);
    }
    this.before = new int[runs];
    this.runOrder = orderRuns();
  }

  /** The handover of the blocks that keys name. */
  static HandOver named(KeyMap map, Segments segments) {
    long[] order = new long[map.size()];
    long[] keys = new long[order.length];
    int[] copies = new int[order.length];
    int count = 0;
    for (int entry = 0; entry < map.end(); entry++) {
      if (map.isUsed(entry)) {
        long value = map.value(entry);
        order[count] = ((long) KeyMap.row(value) << 32) | count;
        keys[count] = map.key(entry);
        copies[count++] = (int) (value >>> 32);
      }
    }
    return new HandOver(segments, order, keys, copies, Arrays.<Holdings>asList().iterator());
  }

  /** The handover of the predicted blocks. */
  static HandOver predicted(PredictedRows predicted, long lastNumber, Segments segments) {
    int count = predicted.size();
    int[] rows = new int[count];
    int[] uses = new int[count];
    long[] births = new long[count];
    long[] expiries = new long[count];
    predicted.copy(rows, uses, births, expiries);
    long[] order = new long[count];
    long[] firsts = new long[count];
    int[] places = new int[count];
    for (int i = 0; i < count; i++) {
      order[i] = (long) rows[i] << 32;
      firsts[i] = segments.hash(rows[i] & ~Segments.PLACE);
      places[i] = rows[i] & Segments.PLACE;
    }
    Iterator<Holdings> after = new Iterator<>() {
      private int from;

      @Override
      public boolean hasNext() {
        return from < count;
      }

      @Override
      public Holdings next() {
        if (!hasNext()) {
          throw new NoSuchElementException();
        }
        int start = from;
        int to = Math.min(count, start + PART);
        from = to;
        return new Holdings.Predicted(
            lastNumber,
            Arrays.copyOfRange(firsts, start, to),
            Arrays.copyOfRange(places, start, to),
            Arrays.copyOfRange(uses, start, to),
            Arrays.copyOfRange(births, start, to),
            Arrays.copyOfRange(expiries, start, to));
      }
    };
    return new HandOver(segments, order, new long[0], new int[0], after);
  }

  @Override
  public boolean hasNext() {
    return emitted < runOrder.length || after.hasNext();
  }

  @Override
  public Holdings next() {
    return emitted < runOrder.length ? blocks() : after.next();
  }

  private Holdings.Blocks blocks() {
    int from = emitted;
    int count = 0;
    while (emitted < runOrder.length && count < PART) {
      count += length(runOrder[emitted++]);
    }
    int runs = emitted - from;
    int named = 0;
    long[] follows = new long[runs];
    int[] lengths = new int[runs];
    int[] held = new int[runs];
    long[] hashes = new long[count];
    for (int i = 0; i < runs; i++) {
      int run = runOrder[from + i];
      named += runStarts[run + 1] - runStarts[run];
      follows[i] = before[run] < 0 ? BlockHash.NONE : segments.hash(names[before[run]] << Segments.ROW_BITS);
      lengths[i] = length(run);
    }
    if (keys.length == 0) {
      named = 0;
    }
    long[] partKeys = new long[named];
    int[] blocks = new int[named];
    int[] partCopies = new int[named];
    int base = 0;
    int key = 0;
    for (int i = 0; i < runs; i++) {
      int run = runOrder[from + i];
      int first = names[run] << Segments.ROW_BITS;
      for (int place = 0; place < lengths[i]; place++) {
        hashes[base + place] = segments.hash(first + place);
      }
      for (int at = runStarts[run]; at < runStarts[run + 1]; at++) {
        int place = row(at) & Segments.PLACE;
        held[i] |= 1 << place;
        if (named != 0) {
          partKeys[key] = keys[(int) order[at]];
          partCopies[key] = copies[(int) order[at]];
          blocks[key++] = base + place;
        }
      }
      base += lengths[i];
    }
    return new Holdings.Blocks(follows, lengths, held, hashes, partKeys, blocks, partCopies);
  }

  private int row(int at) {
    return (int) (order[at] >>> 32);
  }

  private int segment(int at) {
    return row(at) >>> Segments.ROW_BITS;
  }

  /** Blocks of a run: up to the last one that is held; those before it are in the index, too. */
  private int length(int run) {
    return (row(runStarts[run + 1] - 1) & Segments.PLACE) + 1;
  }

  /** Puts each run behind the one whose link leads to it. Links are hints: at worst one is not used. */
  private int[] orderRuns() {
    int runs = names.length;
    int[] next = new int[runs];
    Arrays.fill(before, -1);
    for (int run = 0; run < runs; run++) {
      next[run] = -1;
      if (length(run) == Segments.ROWS) {
        int link = Arrays.binarySearch(names, segments.next(names[run] << Segments.ROW_BITS));
        if (link >= 0 && link != run && before[link] < 0) {
          before[link] = run;
          next[run] = link;
        }
      }
    }
    int[] ordered = new int[runs];
    boolean[] done = new boolean[runs];
    int count = 0;
    for (int round = 0; round < 2; round++) {
      // First from runs without a predecessor, then the rest: circles of outdated links.
      for (int run = 0; run < runs; run++) {
        for (int at = run; at >= 0 && !done[at] && (round == 1 || at != run || before[run] < 0); at = next[at]) {
          done[at] = true;
          ordered[count++] = at;
        }
      }
    }
    return ordered;
  }
}
