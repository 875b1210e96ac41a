package io.kvasir.index;

/**
 * The blocks of one worker that engine keys name: the implementation of {@link WorkerBlocks}, under whose lock it is
 * used. Only {@link #tier} may be called from any thread.
 */
final class KeyedBlocks {
  // Events are processed in slices: rows first, map second, each as a batch of independent accesses. What a slice
  // touches in the key map and the shards' tables has to be in the first-level cache still when it is used: 8 KB.
  private static final int SLICE = 64;

  /**
   * Of keys that are removed, how many are looked for at once when one is not next to that before it: about as many as
   * a processor reads from memory at the same time.
   */
  private static final int WINDOW = 16;

  private static final int TIERS = Tier.values().length;

  private final int slot;
  private final int word;
  private final long bit;
  private final Segments segments;
  private final Shards shards;
  private final Rows rows;
  private final Predictions predictions;
  private final Evictions evictions;
  private final KeyMap keys;
  private final TierCounts tiers;

  /** Of a slice that is stored, the rows of its blocks; of one that is removed, the entries where its keys may be. */
  private final int[] placed = new int[SLICE];

  private final long[] renamed = new long[SLICE];
  private int renames;
  private final int[] released = new int[SLICE];
  private int releasedCount;

  @SuppressWarnings("UnusedVariable")
  private long touched;

  KeyedBlocks(
      int slot,
      Segments segments,
      Shards shards,
      Rows rows,
      Predictions predictions,
      Evictions evictions,
      Budget budget) {
    this.slot = slot;
    this.word = slot >>> 6;
    this.bit = 1L << slot;
    this.segments = segments;
    this.shards = shards;
    this.rows = rows;
    this.predictions = predictions;
    this.evictions = evictions;
    this.keys = new KeyMap(budget);
    this.tiers = new TierCounts(budget);
  }

  /** As {@link WorkerBlocks#hashOf}. */
  long hashOf(long key) {
    int at = keys.find(key);
    return at < 0 ? BlockHash.NONE : segments.hash(KeyMap.row(keys.value(at)));
  }

  /** As {@link WorkerBlocks#holds}. */
  boolean holds(long key, Tier tier) {
    int at = keys.find(key);
    return at >= 0 && KeyMap.copies(keys.value(at), tier.index()) != 0;
  }

  /** As {@link WorkerBlocks#store}, for hashes that were checked. */
  int store(
      long parentKey, boolean root, long[] blockKeys, long[] hashes, int count, Tier tier, boolean counted) {
    int parent = Segments.NONE;
    if (!root) {
      int at = keys.find(parentKey);
      if (at < 0) {
        throw new IllegalStateException(
            "parent key " + Long.toHexString(parentKey) + " is not held: keep the blocks until it is");
      }
      parent = KeyMap.row(keys.value(at));
    }
    int done = 0;
    while (done < count) {
      int wanted = Math.min(SLICE, count - done);
      int stored = storeSlice(parent, blockKeys, hashes, done, wanted, tier.index(), counted);
      done += stored;
      if (stored < wanted) {
        break;
      }
      parent = placed[stored - 1] & ~Rows.FRESH;
    }
    return done;
  }

  private int storeSlice(
      int parent, long[] blockKeys, long[] hashes, int from, int count, int tier, boolean counted) {
    touched = keys.touch(blockKeys, from, count) + shards.touch(hashes, from, count);
    int room = keys.reserve(count) ? count : roomFor(blockKeys, from, count);
    int done = rows.place(parent, hashes, from, room, word, bit, placed);
    int named = 0;
    while (named < done && bind(blockKeys[from + named], placed[named], hashes[from + named], tier, counted)) {
      named++;
    }
    for (int i = named; i < done; i++) {
      if (placed[i] < 0) {
        release(placed[i] & ~Rows.FRESH);
      }
    }
    endBatch();
    return named;
  }

  /** As {@link WorkerBlocks#copy}. */
  int copy(long[] blockKeys, Tier tier, boolean counted) {
    int known = 0;
    for (long key : blockKeys) {
      int at = keys.find(key);
      if (at >= 0 && bind(key, KeyMap.row(keys.value(at)), BlockHash.NONE, tier.index(), counted)) {
        known++;
      }
    }
    return known;
  }

  /** The number of leading keys there is room for; keys that are present need none. */
  private int roomFor(long[] blockKeys, int from, int count) {
    int room = keys.room();
    for (int i = 0; i < count; i++) {
      if (keys.find(blockKeys[from + i]) < 0 && room-- == 0) {
        return i;
      }
    }
    return count;
  }

  /** Makes a key name a row, or counts a copy if it does already; false when the budget does not allow it. */
  private boolean bind(long key, int placedRow, long hash, int tier, boolean counted) {
    int row = placedRow & ~Rows.FRESH;
    int at = keys.find(key);
    if (at >= 0) {
      long value = keys.value(at);
      if (KeyMap.row(value) == row) {
        int copies = KeyMap.copies(value, tier);
        if (copies == 0 && !tiers.add(row, tier)) {
          return false;
        }
        if (copies == 0 || (counted && copies < KeyMap.MAX_COPIES)) {
          keys.setValue(at, KeyMap.withCopies(value, tier, copies + 1));
        }
        return true;
      }
    }
    boolean confirms = placedRow >= 0 && predictions.size() != 0 && predictions.has(row);
    boolean fresh = placedRow < 0 || confirms;
    if (fresh ? (tier != 0 && !tiers.start(row, tier)) : !tiers.add(row, tier)) {
      return false;
    }
    if (confirms) {
      predictions.confirm(row);
    } else if (fresh) {
      evictions.stored(hash);
    }
    long value = KeyMap.withCopies(row, tier, 1);
    if (at >= 0) {
      // Released after the slice: another of its keys may name the older row by then.
      renamed[renames++] = keys.value(at);
      keys.setValue(at, value);
    } else {
      keys.insert(key, value);
    }
    return true;
  }

  /** Takes a key's copies off its row. */
  private void release(long value) {
    for (int tier = 0; tier < TIERS; tier++) {
      if (KeyMap.copies(value, tier) != 0) {
        release(KeyMap.row(value), tier);
      }
    }
  }

  private void release(int row, int tier) {
    if (tiers.isEmpty() || tiers.subtract(row, tier)) {
      release(row);
    }
  }

  /** Queues a row whose bit the next {@link #flush} clears. */
  private void release(int row) {
    if (releasedCount == released.length) {
      flush();
    }
    released[releasedCount++] = row;
  }

  private void flush() {
    rows.release(released, releasedCount, word, bit);
    releasedCount = 0;
  }

  /** As {@link WorkerBlocks#remove(long, Tier, boolean)}. */
  boolean remove(long key, Tier tier, boolean counted) {
    int at = keys.find(key);
    boolean last = at >= 0 && removeOne(at, tier.index(), counted);
    evict();
    return last;
  }

  /** As {@link WorkerBlocks#remove(long[], int, Tier, boolean)}. */
  int remove(long[] blockKeys, int count, Tier tier, boolean counted) {
    int last = 0;
    int at = KeyMap.ABSENT;
    for (int from = 0; from < count; from += SLICE) {
      int to = Math.min(count, from + SLICE);
      touched = keys.touch(blockKeys, from, to - from);
      int sought = from;
      for (int i = from; i < to; i++) {
        at = keys.findNextTo(at, blockKeys[i]);
        if (at == KeyMap.ABSENT) {
          if (i >= sought) {
            sought = Math.min(to, i + WINDOW);
            touched = keys.touch(blockKeys, i, sought - i, placed, i - from);
          }
          at = keys.find(blockKeys[i], placed[i - from]);
        }
        if (at >= 0 && removeOne(at, tier.index(), counted)) {
          last++;
        }
      }
      evict();
    }
    return last;
  }

  /** Releases the queued rows, which the engine evicted. */
  private void evict() {
    if (releasedCount != 0) {
      evictions.evicted(slot, segments, released, releasedCount, keys.size());
      flush();
    }
  }

  private boolean removeOne(int at, int tier, boolean counted) {
    long value = keys.value(at);
    int copies = KeyMap.copies(value, tier);
    if (copies == 0) {
      return false;
    }
    long rest = KeyMap.withCopies(value, tier, counted ? copies - 1 : 0);
    if (KeyMap.isHeld(rest)) {
      keys.setValue(at, rest);
    } else {
      keys.delete(at);
    }
    if (KeyMap.copies(rest, tier) != 0) {
      return false;
    }
    int row = KeyMap.row(value);
    if (tiers.isEmpty() || tiers.subtract(row, tier)) {
      release(row);
    }
    return true;
  }

  /** Removes all keys from a tier. */
  void clear(Tier tier) {
    for (int at = 0; at < keys.end(); at++) {
      if (keys.isUsed(at) && KeyMap.copies(keys.value(at), tier.index()) != 0) {
        long rest = KeyMap.withCopies(keys.value(at), tier.index(), 0);
        release(KeyMap.row(rest), tier.index());
        if (KeyMap.isHeld(rest)) {
          keys.setValue(at, rest);
        } else {
          keys.delete(at);
        }
      }
    }
    flush();
    evictions.cleared(slot);
  }

  /** Removes all keys and releases the memory. */
  void clear() {
    for (int at = 0; at < keys.end(); at++) {
      if (keys.isUsed(at)) {
        release(KeyMap.row(keys.value(at)));
      }
    }
    flush();
    free();
    evictions.cleared(slot);
  }

  /** Makes a key name a placed row, with copies per tier of 8 bits each; false when the budget does not allow it. */
  boolean bind(long key, int placedRow, int copies) {
    if (renames == renamed.length || (keys.find(key) < 0 && !keys.reserve(1))) {
      return false;
    }
    int row = placedRow;
    for (int tier = 0; tier < TIERS; tier++) {
      int count = (copies >>> (8 * tier)) & KeyMap.MAX_COPIES;
      if (count != 0) {
        if (!bind(key, row, segments.hash(row & ~Rows.FRESH), tier, true)) {
          return row != placedRow;
        }
        int at = keys.find(key);
        keys.setValue(at, KeyMap.withCopies(keys.value(at), tier, count));
        row = placedRow & ~Rows.FRESH;
      }
    }
    return true;
  }

  /** Clears the bit of a placed row that no key names. */
  void unbind(int row) {
    release(row);
  }

  /** Ends a batch of {@link #bind}. */
  void endBatch() {
    while (renames > 0) {
      release(renamed[--renames]);
    }
    flush();
  }

  /** The number of engine keys that name a block. */
  int size() {
    return keys.size();
  }

  /** As {@link WorkerBlocks#handOver}. */
  HandOver handOver() {
    return HandOver.named(keys, segments);
  }

  /** The nearest tier of a row that the worker holds. Any thread, wait-free. */
  Tier tier(int row) {
    return tiers.isEmpty() ? Tier.DEVICE : TierCounts.nearest(tiers.get(row));
  }

  /** Releases the memory; the bits stay set. */
  void free() {
    keys.clear();
    tiers.clear();
  }
}
