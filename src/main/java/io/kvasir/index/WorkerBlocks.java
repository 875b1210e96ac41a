package io.kvasir.index;

/**
 * The one writer's handle on what one worker holds: engine keys to rows. One writing thread at a time.
 *
 * <p>A key names one block: stored again with another chain hash it names that one, and the older block
 * counts as gone. Several keys may name one block, which is held until the last of them is removed; a
 * block is held while a copy is left in some tier. Removing a block leaves its children: the chain then
 * has a hole. After {@link BlockIndex#retire} every call does nothing.
 *
 * <p>When the index's memory budget is reached no new blocks are registered (they are counted, see
 * {@link BlockIndex#refused}); what is held stays exact and can be removed, which makes room again.
 */
public final class WorkerBlocks {
  // Events are taken in slices: rows first, map second, each as a batch of independent accesses.
  private static final int SLICE = 256;
  private static final int TIERS = Tier.values().length;

  private final int word;
  private final long bit;
  private final BlockIndex index;
  private final Segments segments;
  private final Shards shards;
  private final Rows rows;
  private final KeyMap keys;
  private final TierCounts tiers;
  private final int[] placed = new int[SLICE];
  private final long[] renamed = new long[SLICE];
  private int renames;
  private final int[] left = new int[SLICE];
  private int leaves;
  private boolean open = true;

  @SuppressWarnings("UnusedVariable")
  private long touched;

  private final Object sweeping = new Object();
  private boolean swept;

  WorkerBlocks(int slot, BlockIndex index, Segments segments, Shards shards, Rows rows, Budget budget) {
    this.word = slot >>> 6;
    this.bit = 1L << slot;
    this.index = index;
    this.segments = segments;
    this.shards = shards;
    this.rows = rows;
    this.keys = new KeyMap(budget);
    this.tiers = new TierCounts(budget);
  }

  /** The chain hash of the block the engine calls {@code key}, {@link BlockHash#NONE} if it is not held. */
  public synchronized long hashOf(long key) {
    int at = keys.find(key);
    return at < 0 ? BlockHash.NONE : segments.hash(KeyMap.row(keys.value(at)));
  }

  /**
   * Registers {@code count} blocks that follow one another, the first of them after {@code parentKey}.
   *
   * @param root whether the first block has no parent; {@code parentKey} is then not looked at
   * @param blockKeys the engine's keys
   * @param hashes their chain hashes, none of them {@link BlockHash#NONE}
   * @param counted whether each call adds a copy that its own removal takes away (a sequenced stream;
   *     up to 255 copies are counted), or the block is simply there (set semantics)
   * @return how many could be registered: less than {@code count} only when the memory budget is reached
   *     or the worker is retired
   * @throws IllegalStateException when the parent is not held
   * @throws IllegalArgumentException when a hash is {@link BlockHash#NONE}
   */
  public synchronized int store(
      long parentKey, boolean root, long[] blockKeys, long[] hashes, int count, Tier tier, boolean counted) {
    if (!open) {
      return 0;
    }
    for (int i = 0; i < count; i++) {
      if (hashes[i] == BlockHash.NONE) {
        throw new IllegalArgumentException("hashes[" + i + "] is 0, which names no block: use BlockHash.chained");
      }
    }
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
        index.refuse(count - done);
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
    while (named < done && name(blockKeys[from + named], placed[named], tier, counted)) {
      named++;
    }
    for (int i = named; i < done; i++) {
      if (placed[i] < 0) {
        leave(placed[i] & ~Rows.FRESH);
      }
    }
    while (renames > 0) {
      leave(renamed[--renames]);
    }
    flush();
    return named;
  }

  /** How many of the first keys there is room for when not all of them need it. */
  private int roomFor(long[] blockKeys, int from, int count) {
    int room = keys.room();
    for (int i = 0; i < count; i++) {
      if (keys.find(blockKeys[from + i]) < 0 && room-- == 0) {
        return i;
      }
    }
    return count;
  }

  /** Lets a key name a row, once more if it does already; false when the budget does not allow it. */
  private boolean name(long key, int placedRow, int tier, boolean counted) {
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
    boolean fresh = placedRow < 0;
    if (fresh ? (tier != 0 && !tiers.start(row, tier)) : !tiers.add(row, tier)) {
      return false;
    }
    long value = KeyMap.withCopies(row, tier, 1);
    if (at >= 0) {
      // Released after the slice: another of its keys may have come to name the older row.
      renamed[renames++] = keys.value(at);
      keys.setValue(at, value);
    } else {
      keys.insert(key, value);
    }
    return true;
  }

  /** Takes a key's share in its row away. */
  private void leave(long value) {
    for (int tier = 0; tier < TIERS; tier++) {
      if (KeyMap.copies(value, tier) != 0) {
        leave(KeyMap.row(value), tier);
      }
    }
  }

  private void leave(int row, int tier) {
    if (tiers.isEmpty() || tiers.subtract(row, tier)) {
      leave(row);
    }
  }

  /** Lets the worker's bit be taken off a row with the next {@link #flush}. */
  private void leave(int row) {
    if (leaves == left.length) {
      flush();
    }
    left[leaves++] = row;
  }

  private void flush() {
    rows.release(left, leaves, word, bit);
    leaves = 0;
  }

  /** Takes away one copy of a block in a tier. Unknown keys are ignored. Returns whether it was the last there. */
  public synchronized boolean remove(long key, Tier tier, boolean counted) {
    boolean gone = open && removeOne(key, tier.index(), counted);
    flush();
    return gone;
  }

  /**
   * Takes away one copy of each of the first {@code count} blocks, as {@link #remove(long, Tier, boolean)}
   * does, and faster. Returns how many were the last in the tier.
   */
  public synchronized int remove(long[] blockKeys, int count, Tier tier, boolean counted) {
    int gone = 0;
    for (int from = 0; open && from < count; from += SLICE) {
      int to = Math.min(count, from + SLICE);
      touched = keys.touch(blockKeys, from, to - from);
      for (int i = from; i < to; i++) {
        if (removeOne(blockKeys[i], tier.index(), counted)) {
          gone++;
        }
      }
      flush();
    }
    return gone;
  }

  private boolean removeOne(long key, int tier, boolean counted) {
    int at = keys.find(key);
    if (at < 0) {
      return false;
    }
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
    leave(KeyMap.row(value), tier);
    return true;
  }

  /** Takes away everything the worker holds in a tier. */
  public synchronized void clear(Tier tier) {
    if (!open) {
      return;
    }
    for (int at = 0; at < keys.end(); at++) {
      if (keys.isUsed(at) && KeyMap.copies(keys.value(at), tier.index()) != 0) {
        long rest = KeyMap.withCopies(keys.value(at), tier.index(), 0);
        leave(KeyMap.row(rest), tier.index());
        if (KeyMap.isHeld(rest)) {
          keys.setValue(at, rest);
        } else {
          keys.delete(at);
        }
      }
    }
    flush();
  }

  /** Takes away everything the worker holds. */
  public synchronized void clear() {
    if (!open) {
      return;
    }
    for (int at = 0; at < keys.end(); at++) {
      if (keys.isUsed(at)) {
        leave(KeyMap.row(keys.value(at)));
      }
    }
    flush();
    keys.clear();
    tiers.clear();
  }

  /** Engine keys that name a block, in whatever tier. Any thread. */
  public synchronized int size() {
    return keys.size();
  }

  /** The nearest tier of a row the worker holds. Any thread, wait-free. */
  Tier tier(int row) {
    return tiers.isEmpty() ? Tier.DEVICE : TierCounts.nearest(tiers.get(row));
  }

  /** Stops the writer: when this returns, no call changes anything any more. */
  synchronized void close() {
    open = false;
  }

  /**
   * Clears what a stopped worker held, row by row through the whole index, and gives the map's memory
   * back. Once: a second sweep could meet the slot's next worker.
   */
  void sweep() {
    synchronized (this) {
      if (open) {
        throw new IllegalStateException("the worker is not retired: retire it first");
      }
    }
    synchronized (sweeping) {
      if (!swept) {
        rows.sweep(word, bit);
        synchronized (this) {
          keys.clear();
          tiers.clear();
        }
        swept = true;
      }
    }
  }
}
