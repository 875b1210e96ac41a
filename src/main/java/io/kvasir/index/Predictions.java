package io.kvasir.index;

/**
 * The predicted blocks of one worker: places predictions in rows as the writer of events does, and removes them.
 *
 * <p>Blocks of the prompt that the worker holds already are left alone; a row without the worker's bit becomes
 * {@link PredictedRows predicted}, and one that is predicted already counts one more use. The first new row gets its
 * bit last, so that a search finds all of a prediction or nothing. Not thread-safe: a part of {@link WorkerBlocks}.
 */
final class Predictions {
  private static final int SLICE = 256;

  private final int slot;
  private final Segments segments;
  private final Rows rows;
  private final Evictions evictions;
  private final int word;
  private final long bit;
  private final int maxRows;
  private final PredictedRows predicted;
  private int[] slice = new int[0];
  private int releasedCount;
  private long lastNumber;

  @SuppressWarnings("UnusedVariable")
  private long touched;

  Predictions(int slot, Segments segments, Rows rows, Budget budget, Evictions evictions, int maxRows) {
    this.slot = slot;
    this.segments = segments;
    this.rows = rows;
    this.evictions = evictions;
    this.word = slot >>> 6;
    this.bit = 1L << slot;
    this.maxRows = maxRows;
    this.predicted = new PredictedRows(budget);
  }

  int size() {
    return predicted.size();
  }

  boolean has(int row) {
    return predicted.has(row);
  }

  /** Forgets a predicted row because a key names it now. */
  void confirm(int row) {
    predicted.remove(row);
  }

  /** Places a prediction; returns how many blocks the memory budget had no room for. */
  int place(Prediction prediction) {
    if (slice.length == 0) {
      slice = new int[SLICE];
    }
    long[] hashes = prediction.hashes();
    int count = Math.min(hashes.length, maxRows);
    long number = ++lastNumber;
    predicted.begin(number, prediction.expiry());
    int previous = Segments.NONE;
    int confirmed = count;
    int at = 0;
    while (at < count) {
      int row = rows.after(previous, hashes[at]);
      int run = rows.held(row, hashes, at, count, word, bit);
      if (run == 0) {
        break;
      }
      int touched = predicted.touch(row, run);
      if (touched != 0) {
        confirmed = Math.min(confirmed, at + Integer.numberOfTrailingZeros(touched));
      }
      at += run;
      previous = row + run - 1;
    }
    int held = at;
    confirmed = Math.min(confirmed, held);
    int first = Segments.NONE;
    if (at < count) {
      first = predicted.reserve(1) ? rows.claim(previous, hashes, at) : Segments.NONE;
      if (first == Segments.NONE) {
        prediction.placed(number, at, held, confirmed);
        return count - at;
      }
      evictions.stored(hashes[at]);
      predicted.add(first, 1);
      previous = first;
      at++;
    }
    int refused = 0;
    while (at < count && refused == 0) {
      int wanted = Math.min(SLICE, count - at);
      int done = placeSlice(previous, hashes, at, wanted);
      at += done;
      if (done < wanted) {
        refused = count - at;
      } else {
        previous = slice[done - 1] & ~Rows.FRESH;
        makeRoom(prediction.expiry());
      }
    }
    makeRoom(prediction.expiry());
    if (first != Segments.NONE) {
      rows.publish(first, word, bit);
    }
    prediction.placed(number, at, held, confirmed);
    return refused;
  }

  /** The number of a chain's leading blocks that the slot's worker holds by keys of its engine. */
  int reported(long[] hashes) {
    int previous = Segments.NONE;
    int at = 0;
    while (at < hashes.length) {
      int row = rows.after(previous, hashes[at]);
      int run = rows.held(row, hashes, at, hashes.length, word, bit);
      int only = run == 0 ? 1 : predicted.among(row, run);
      if (only != 0) {
        return at + Integer.numberOfTrailingZeros(only);
      }
      at += run;
      previous = row + run - 1;
    }
    return at;
  }

  private int placeSlice(int previous, long[] hashes, int start, int wanted) {
    touched = rows.touch(hashes, start, wanted);
    int done = predicted.reserve(wanted) ? rows.place(previous, hashes, start, wanted, word, bit, slice) : 0;
    int from = 0;
    while (from < done) {
      // Adjacent rows of a segment, all of them fresh or all of them held.
      int to = from + 1;
      while (to < done && slice[to] == slice[to - 1] + 1 && (slice[to] & Segments.PLACE) != 0) {
        to++;
      }
      if (slice[from] < 0) {
        predicted.add(slice[from] & ~Rows.FRESH, to - from);
        for (int i = from; i < to; i++) {
          evictions.stored(hashes[start + i]);
        }
      } else {
        int _ = predicted.touch(slice[from], to - from);
      }
      from = to;
    }
    return done;
  }

  /**
   * Evicts the oldest rows beyond the limit, never the prompt's own; called before more rows are placed.
   *
   * @param expiry what is placed expires then: only what never does stands for the cache of an engine, of others it is
   *     the engine that evicts
   */
  private void makeRoom(long expiry) {
    while (predicted.size() > maxRows) {
      int row = predicted.takeOldest();
      if (expiry == Long.MAX_VALUE) {
        evictions.evicted(slot, segments.hash(row), predicted.size());
      }
      release(row);
    }
    flush();
  }

  /** Retracts a placed prediction. */
  void retract(Prediction prediction) {
    int previous = Segments.NONE;
    int at = 0;
    while (at < prediction.length()) {
      int row = rows.after(previous, prediction.hashes()[at]);
      int run = rows.held(row, prediction.hashes(), at, prediction.length(), word, bit);
      int removed = run == 0 ? 0 : predicted.retract(row, run, prediction.number());
      for (; removed != 0; removed &= removed - 1) {
        release(row + Integer.numberOfTrailingZeros(removed));
      }
      previous = run == 0 ? row : row + run - 1;
      at += Math.max(1, run);
    }
    flush();
  }

  /** The predicted rows, for another index. */
  HandOver handOver(Segments segments) {
    return HandOver.predicted(predicted, lastNumber, segments);
  }

  /** Adds rows predicted in another index; returns how many blocks the memory budget had no room for. */
  int take(Holdings.Predicted part) {
    if (slice.length == 0) {
      slice = new int[SLICE];
    }
    int refused = 0;
    for (int i = 0; i < part.firsts().length; i++) {
      int row = rows.find(part.firsts()[i], part.places()[i]);
      if (row != Segments.NONE && rows.has(row, word, bit) && !predicted.has(row)) {
        if (predicted.reserve(1)) {
          predicted.restore(row, part.uses()[i], part.births()[i], part.expiries()[i]);
        } else {
          release(row);
          refused++;
        }
      }
    }
    lastNumber = Math.max(lastNumber, part.lastNumber());
    makeRoom(0);
    return refused;
  }

  void expire(long now) {
    boolean more = predicted.size() != 0 && predicted.earliest() <= now;
    while (more) {
      releasedCount = predicted.takeExpired(now, slice);
      more = releasedCount == slice.length;
      flush();
    }
  }

  /** Removes all predicted rows and releases the memory. */
  void clear() {
    while (predicted.size() != 0) {
      release(predicted.takeOldest());
    }
    flush();
    predicted.clear();
  }

  private void release(int row) {
    if (releasedCount == slice.length) {
      flush();
    }
    slice[releasedCount++] = row;
  }

  private void flush() {
    rows.release(slice, releasedCount, word, bit);
    releasedCount = 0;
  }
}
