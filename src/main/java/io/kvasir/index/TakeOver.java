package io.kvasir.index;

/**
 * The receiver of a handover: places the runs of another index as they are laid out there.
 *
 * <p>Where that is not possible, because this index has rows laid out differently, a run continues as a branch: no
 * block is ever in the place of another, but one that is in two places may be missed by a search for this worker. That
 * does not happen in an index that got everything from the other one.
 *
 * <p>Not thread-safe: a part of {@link WorkerBlocks}.
 */
final class TakeOver {
  private final KeyedBlocks keyed;
  private final Segments segments;
  private final Shards shards;
  private final Rows rows;
  private final int word;
  private final long bit;
  private final int[] placed = new int[Segments.ROWS];

  TakeOver(KeyedBlocks keyed, Segments segments, Shards shards, Rows rows, int word, long bit) {
    this.keyed = keyed;
    this.segments = segments;
    this.shards = shards;
    this.rows = rows;
    this.word = word;
    this.bit = bit;
  }

  /** Adds a part; returns how many blocks the memory budget had no room for. */
  int take(Holdings.Blocks part) {
    int refused = 0;
    int base = 0;
    int key = 0;
    boolean named = part.keys().length != 0;
    for (int run = 0; run < part.lengths().length; run++) {
      int length = part.lengths()[run];
      int held = part.held()[run];
      place(part.hashes(), base, length, held, part.follows()[run]);
      for (; key < part.keys().length && part.blocks()[key] < base + length; key++) {
        int block = part.blocks()[key] - base;
        if (placed[block] != Segments.NONE && keyed.bind(part.keys()[key], placed[block], part.copies()[key])) {
          placed[block] &= ~Rows.FRESH;
        } else {
          refused++;
        }
      }
      for (int block = 0; block < length; block++) {
        if (named && placed[block] < 0) {
          keyed.unbind(placed[block] & ~Rows.FRESH);
        } else if (!named && placed[block] == Segments.NONE && (held >>> block & 1) != 0) {
          refused++;
        }
      }
      keyed.endBatch();
      base += length;
    }
    return refused;
  }

  /** Places a run and sets the worker's bit on the blocks that are held. */
  private void place(long[] hashes, int from, int length, int held, long follows) {
    int previous = last(follows);
    int at = 0;
    while (at < length) {
      int pins = length - at;
      int row = shards.pinned(hashes, from + at, pins) << Segments.ROW_BITS;
      if (row == Segments.NONE) {
        break;
      }
      if (at == 0 && previous != Segments.NONE) {
        segments.linkNext(previous, row >>> Segments.ROW_BITS);
      }
      int fresh = 0;
      int stop = Math.min(length, at + Segments.ROWS);
      int first = at;
      do {
        placed[at] = row + at - first;
        if ((held >>> at & 1) != 0 && segments.set(placed[at], word, bit)) {
          placed[at] |= Rows.FRESH;
          fresh++;
        }
        at++;
      } while (at < stop && rows.claims(row + at - first, hashes[from + at]));
      shards.unpin(row, pins - fresh);
    }
    for (; at < length; at++) {
      placed[at] = Segments.NONE;
    }
    if (previous != Segments.NONE) {
      shards.unpin(previous, 1);
    }
  }

  /** The last row of the run that begins with a block, pinned; {@link Segments#NONE} if there is none. */
  private int last(long first) {
    int segment = first == BlockHash.NONE ? Segments.NONE : shards.find(first);
    int row = segment << Segments.ROW_BITS;
    if (segment == Segments.NONE || !segments.tryPin(row, 1)) {
      return Segments.NONE;
    }
    if (segments.hash(row) != first) {
      shards.unpin(row, 1);
      return Segments.NONE;
    }
    return row | Segments.PLACE;
  }
}
