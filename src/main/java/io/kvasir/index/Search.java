package io.kvasir.index;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The search of the index: wait-free, without allocation, beside any number of writers.
 *
 * <p>Chain hashes are cumulative, so a worker that holds a block (nearly always) holds those before it: along a chain
 * the set of holders only shrinks, and every worker has one drop-off point. The last row of a segment therefore answers
 * for all of it: if it has the chain's hash, which proves everything before it, and every candidate's bit, the search
 * goes on to the next segment. After a few whole segments it jumps: segments begin 16 blocks apart and every first
 * block is in the table, so the search enters 4, then 8, then 16 segments further on, and half as far once that was too
 * far. Only where a segment does not answer does it look at the rows one by one. Its cost grows with the number of
 * distinct depths and the logarithm of the length, not with blocks times workers, and it ends when no candidate is
 * left. A worker with a hole that no probe hit is taken to hold it: {@link #verify} checks every block.
 *
 * <p>Places and links are hints. If the hash there is another, the block may begin a segment of its own (a branch), and
 * the table is searched, once. A row counts only if its segment's version did not change between reading the row's hash
 * and its bits; else the block has just been evicted by its last holder, which is the answer. So a depth d means: at
 * some moment during the call, the worker did hold the d-th block.
 */
final class Search {
  /** Segments to go through one by one before the first jump: short chains are faster without. */
  private static final int WORTH_A_JUMP = 2;

  private static final int FIRST_JUMP = 4;

  /** So many of a word's slots are written faster all at once. */
  private static final int WORTH_A_FILL = 8;

  private final Segments segments;
  private final Shards shards;
  private final int width;
  private final int rowLongs;

  Search(Segments segments, Shards shards) {
    this.segments = segments;
    this.shards = shards;
    this.width = segments.width();
    this.rowLongs = segments.rowLongs();
  }

  /** As {@link BlockIndex#search}, for the candidates that are alive. */
  int search(long[] hashes, long[] candidates, long[] alive, int[] depths) {
    long c0 = living(candidates, alive, 0, depths);
    long c1 = width > 1 ? living(candidates, alive, 1, depths) : 0;
    long c2 = width > 2 ? living(candidates, alive, 2, depths) : 0;
    long c3 = width > 2 ? living(candidates, alive, 3, depths) : 0;
    if ((c0 | c1 | c2 | c3) == 0 || hashes.length == 0) {
      drop(depths, c0, c1, c2, c3, 0);
      return 0;
    }
    int depth = 0;
    int row = shards.find(hashes[0]) << Segments.ROW_BITS;
    boolean found = true; // through the table, so that it need not be searched again
    boolean one = false; // probe row by row
    int whole = 0; // segments passed without a loss
    int jump = 0; // segments to skip if all candidates hold that far
    boolean widening = true; // no jump has been too far yet
    while (row != Segments.NONE) {
      int place = row & Segments.PLACE;
      if (jump > 1 && place == 0 && !one) {
        int there = depth + (jump << Segments.ROW_BITS);
        if (there < hashes.length) {
          if (widening && jump == FIRST_JUMP) {
            touchAhead(hashes, there);
          }
          int head = shards.find(hashes[there]) << Segments.ROW_BITS;
          if (head != Segments.NONE && covers(head, hashes[there], c0, c1, c2, c3)) {
            depth = there;
            row = head;
            found = true;
            jump = widening ? 2 * jump : jump >> 1;
            continue;
          }
        }
        widening = false;
        whole = 0;
        jump >>= 1;
        if (jump > 1) {
          continue;
        }
      }
      long[] chunk = segments.chunkOf(row);
      int first = segments.segmentAt(row);
      int state = first + Segments.ROWS * rowLongs;
      long generation = (long) Segments.LONGS.getAcquire(chunk, state);
      int probe = one ? place : Math.min(Segments.PLACE, place + hashes.length - 1 - depth);
      int at = first + probe * rowLongs;
      boolean same = (long) Segments.LONGS.getAcquire(chunk, at) == hashes[depth + probe - place];
      long b0 = (long) Segments.LONGS.getAcquire(chunk, at + 1);
      long b1 = width > 1 ? (long) Segments.LONGS.getAcquire(chunk, at + 2) : 0;
      long b2 = width > 2 ? (long) Segments.LONGS.getAcquire(chunk, at + 3) : 0;
      long b3 = width > 2 ? (long) Segments.LONGS.getAcquire(chunk, at + 4) : 0;
      same &= Segments.sameGeneration(generation, (long) Segments.LONGS.getAcquire(chunk, state));
      long lost = (c0 & ~b0) | (c1 & ~b1) | (c2 & ~b2) | (c3 & ~b3);
      if (!(same && lost == 0)) {
        if (probe != place) {
          one = true;
          continue;
        }
        if (!same) {
          row = found ? Segments.NONE : shards.find(hashes[depth]) << Segments.ROW_BITS;
          found = true;
          one = false;
          whole = 0;
          jump = 0;
          continue;
        }
        drop(depths, c0, ~b0, 0, depth);
        drop(depths, c1, ~b1, 1, depth);
        drop(depths, c2, ~b2, 2, depth);
        drop(depths, c3, ~b3, 3, depth);
        c0 &= b0;
        c1 &= b1;
        c2 &= b2;
        c3 &= b3;
        if ((c0 | c1 | c2 | c3) == 0) {
          return depth;
        }
        one = false; // the others may well hold all of the segment
        whole = 0;
        jump = 0;
      }
      depth += probe - place + 1;
      if (depth == hashes.length) {
        break;
      }
      found = false;
      if (probe != Segments.PLACE) {
        row += probe - place + 1;
      } else {
        one = false;
        if (++whole == WORTH_A_JUMP) {
          jump = FIRST_JUMP;
          widening = true;
        }
        row = (int) (long) Segments.LONGS.getAcquire(chunk, state + 1) << Segments.ROW_BITS;
        if (row == Segments.NONE) {
          row = shards.find(hashes[depth]) << Segments.ROW_BITS;
          found = true;
        }
      }
    }
    drop(depths, c0, c1, c2, c3, depth);
    return depth;
  }

  /** Prefetches the table entries of the next jumps, in parallel instead of one after the other. */
  private void touchAhead(long[] hashes, int from) {
    int at = from;
    for (int jump = (2 * FIRST_JUMP) << Segments.ROW_BITS; at < hashes.length; jump <<= 1) {
      shards.touch(hashes[at]);
      at += jump;
    }
  }

  /** The number of leading blocks that a slot's worker holds, looked up one by one. */
  int verify(long[] hashes, int slot, @Nullable WorkerBlocks worker, int @Nullable [] tiers) {
    int row = Segments.NONE;
    for (int depth = 0; depth < hashes.length; depth++) {
      row = shards.after(row, hashes[depth]);
      if (row == Segments.NONE || !holds(row, hashes[depth], slot)) {
        return depth;
      }
      if (worker != null && tiers != null) {
        tiers[worker.tier(row).index()]++;
      }
    }
    return hashes.length;
  }

  private boolean holds(int row, long hash, int slot) {
    long generation = segments.state(row);
    return segments.hash(row) == hash
        && (segments.bits(row, slot >>> 6) >>> slot & 1) != 0
        && Segments.sameGeneration(generation, segments.state(row));
  }

  /** Whether a row has this hash and all of these bits. */
  private boolean covers(int row, long hash, long c0, long c1, long c2, long c3) {
    long generation = segments.state(row);
    return segments.hash(row) == hash
        && (c0 & ~segments.bits(row, 0)) == 0
        && (c1 == 0 || (c1 & ~segments.bits(row, 1)) == 0)
        && (c2 == 0 || (c2 & ~segments.bits(row, 2)) == 0)
        && (c3 == 0 || (c3 & ~segments.bits(row, 3)) == 0)
        && Segments.sameGeneration(generation, segments.state(row));
  }

  private static long living(long[] candidates, long[] alive, int word, int[] depths) {
    long living = candidates[word] & (long) Segments.LONGS.getAcquire(alive, word);
    drop(depths, candidates[word], ~living, word, 0);
    return living;
  }

  private static void drop(int[] depths, long c0, long c1, long c2, long c3, int depth) {
    drop(depths, c0, -1, 0, depth);
    drop(depths, c1, -1, 1, depth);
    drop(depths, c2, -1, 2, depth);
    drop(depths, c3, -1, 3, depth);
  }

  /** Writes the depth of the candidates that are lost; those that remain are written again when they are. */
  private static void drop(int[] depths, long candidates, long lost, int word, int depth) {
    long left = candidates & lost;
    if (candidates == -1 && Long.bitCount(left) > WORTH_A_FILL) {
      Arrays.fill(depths, word << 6, (word + 1) << 6, depth);
      return;
    }
    for (; left != 0; left &= left - 1) {
      depths[(word << 6) + Long.numberOfTrailingZeros(left)] = depth;
    }
  }
}
