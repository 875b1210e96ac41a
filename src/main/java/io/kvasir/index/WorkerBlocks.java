package io.kvasir.index;

import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The one writer's handle on what one worker holds: engine keys to rows. One writing thread at a time;
 * predictions may come from any.
 *
 * <p>A key names one block: stored again with another chain hash it names that one, and the older block
 * counts as gone. Several keys may name one block, which is held until the last of them is removed; a
 * block is held while a copy is left in some tier. Removing a block leaves its children: the chain then
 * has a hole. After {@link BlockIndex#retire} every call does nothing.
 *
 * <p>A block may also be {@link #predict predicted}: found by every search though no key names it, until
 * one does, the prediction is taken back, or its time is over. Of an engine that tells nothing predictions
 * are all there is; they stay then until newer ones need their room ({@link BlockIndex#open(int, int)}).
 *
 * <p>Who predicts never waits for the writer: a prediction that comes while something else is being written
 * is left behind, and placed by whoever is writing before it lets go.
 *
 * <p>When the index's memory budget is reached no new blocks are registered (they are counted, see
 * {@link BlockIndex#refused}); what is held stays exact and can be removed, which makes room again.
 */
public final class WorkerBlocks {
  // Events are taken in slices: rows first, map second, each as a batch of independent accesses.
  private static final int SLICE = 256;
  private static final int TIERS = Tier.values().length;

  /** Predictions left behind at a time: a writer in the middle of its longest call would have to meet more. */
  private static final int MOST_WAITING = 4096;

  private final int word;
  private final long bit;
  private final BlockIndex index;
  private final Segments segments;
  private final Shards shards;
  private final Rows rows;
  private final KeyMap keys;
  private final TierCounts tiers;
  private final Predictions predictions;
  private final ReentrantLock writing = new ReentrantLock();
  private final ConcurrentLinkedQueue<Prediction> waiting = new ConcurrentLinkedQueue<>();
  private final AtomicInteger waitingCount = new AtomicInteger();
  private volatile int predicted;
  private final int[] placed = new int[SLICE];
  private final long[] renamed = new long[SLICE];
  private int renames;
  private final int[] left = new int[SLICE];
  private int leaves;
  private boolean open = true;
  private volatile @Nullable WorkerBlocks heir;

  @SuppressWarnings("UnusedVariable")
  private long touched;

  WorkerBlocks(
      int slot, BlockIndex index, Segments segments, Shards shards, Rows rows, Budget budget, int mostPredicted) {
    this.word = slot >>> 6;
    this.bit = 1L << slot;
    this.index = index;
    this.segments = segments;
    this.shards = shards;
    this.rows = rows;
    this.keys = new KeyMap(budget);
    this.tiers = new TierCounts(budget);
    this.predictions = new Predictions(rows, budget, word, bit, mostPredicted);
  }

  /** The chain hash of the block the engine calls {@code key}, {@link BlockHash#NONE} if it is not held. */
  public long hashOf(long key) {
    writing.lock();
    try {
      int at = keys.find(key);
      return at < 0 ? BlockHash.NONE : segments.hash(KeyMap.row(keys.value(at)));
    } finally {
      unlock();
    }
  }

  /** Whether the block the engine calls {@code key} is held in a tier. */
  public boolean holds(long key, Tier tier) {
    writing.lock();
    try {
      int at = keys.find(key);
      return at >= 0 && KeyMap.copies(keys.value(at), tier.index()) != 0;
    } finally {
      unlock();
    }
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
  public int store(
      long parentKey, boolean root, long[] blockKeys, long[] hashes, int count, Tier tier, boolean counted) {
    writing.lock();
    try {
      return open ? storeAll(parentKey, root, blockKeys, hashes, count, tier, counted) : 0;
    } finally {
      unlock();
    }
  }

  private int storeAll(
      long parentKey, boolean root, long[] blockKeys, long[] hashes, int count, Tier tier, boolean counted) {
    named(hashes, count);
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

  private static void named(long[] hashes, int count) {
    for (int i = 0; i < count; i++) {
      if (hashes[i] == BlockHash.NONE) {
        throw new IllegalArgumentException("hashes[" + i + "] is 0, which names no block: use BlockHash.chained");
      }
    }
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
    settle();
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
    boolean confirms = placedRow >= 0 && predictions.size() != 0 && predictions.has(row);
    boolean fresh = placedRow < 0 || confirms;
    if (fresh ? (tier != 0 && !tiers.start(row, tier)) : !tiers.add(row, tier)) {
      return false;
    }
    if (confirms) {
      predictions.confirm(row);
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
  public boolean remove(long key, Tier tier, boolean counted) {
    writing.lock();
    try {
      boolean gone = open && removeOne(key, tier.index(), counted);
      flush();
      return gone;
    } finally {
      unlock();
    }
  }

  /**
   * Takes away one copy of each of the first {@code count} blocks, as {@link #remove(long, Tier, boolean)}
   * does, and faster. Returns how many were the last in the tier.
   */
  public int remove(long[] blockKeys, int count, Tier tier, boolean counted) {
    writing.lock();
    try {
      return removeAll(blockKeys, count, tier, counted);
    } finally {
      unlock();
    }
  }

  private int removeAll(long[] blockKeys, int count, Tier tier, boolean counted) {
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

  /** Takes away everything the worker holds in a tier; what is predicted counts as the device's. */
  public void clear(Tier tier) {
    writing.lock();
    try {
      if (open) {
        clearTier(tier);
      }
    } finally {
      unlock();
    }
  }

  private void clearTier(Tier tier) {
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
    if (tier == Tier.DEVICE) {
      predictions.clear();
    }
  }

  /** Takes away everything the worker holds, and what is predicted of it. */
  public void clear() {
    writing.lock();
    try {
      if (open) {
        clearAll();
      }
    } finally {
      unlock();
    }
  }

  private void clearAll() {
    for (int at = 0; at < keys.end(); at++) {
      if (keys.isUsed(at)) {
        leave(KeyMap.row(keys.value(at)));
      }
    }
    flush();
    predictions.clear();
    keys.clear();
    tiers.clear();
  }

  /**
   * Predicts that the worker will soon hold the blocks of a prompt, because it is being sent there: those it
   * does not hold count as held until a key names them, {@link #expire} finds their time over, or every
   * prediction of them is {@link Prediction#retract taken back}. Any thread; never waits.
   *
   * @param hashes the chain hashes of the prompt from its first block on, none of them
   *     {@link BlockHash#NONE}; not changed afterwards
   * @param expiry when its time is over, as {@link #expire} is told; {@link Long#MAX_VALUE} for never
   * @throws IllegalArgumentException when a hash is {@link BlockHash#NONE}
   */
  public Prediction predict(long[] hashes, long expiry) {
    named(hashes, hashes.length);
    Prediction prediction = new Prediction(this, hashes, expiry);
    work(prediction);
    return prediction;
  }

  /** Takes predictions away whose time is over. */
  public void expire(long now) {
    writing.lock();
    try {
      if (open) {
        predictions.expire(now);
      }
    } finally {
      unlock();
    }
  }

  /**
   * What the worker holds by its keys, to be {@link #take taken} by a worker of another index. Nothing may be
   * stored or removed until the last part has been asked for.
   */
  public HandOver handOver() {
    writing.lock();
    try {
      return HandOver.named(keys, segments);
    } finally {
      unlock();
    }
  }

  /** What is predicted of the worker at this moment, as {@link #handOver}, and to be taken after it. */
  public HandOver handOverPredicted() {
    writing.lock();
    try {
      return predictions.handOver(segments);
    } finally {
      unlock();
    }
  }

  /**
   * Takes a part of what a worker of another index holds: every call has then the effect it would have had there.
   * The parts come in their order. A key that is there already keeps its block and has the copies of the part.
   *
   * <p>The other index may tell less workers apart, or more. Exact as long as everything in this index was handed over
   * from that one; rows that other sources put here meanwhile may keep a search from finding a block whose
   * parent the worker does not hold.
   *
   * @return how many blocks could not be registered because the memory budget is reached
   */
  public int take(Holdings part) {
    writing.lock();
    try {
      int refused = open ? taken(part) : 0;
      index.refuse(refused);
      return refused;
    } finally {
      unlock();
    }
  }

  private int taken(Holdings part) {
    TakeOver from = new TakeOver(this, segments, shards, rows, word, bit);
    return switch (part) {
      case Holdings.Blocks blocks -> from.take(blocks);
      case Holdings.Predicted these -> predictions.take(these, from);
    };
  }

  /**
   * Ends this handle in favour of one of another index, which has taken what {@link #handOver} told: hands it what is
   * predicted, and from now on what is predicted or taken back here. Every other call does nothing any
   * more. What was written here stays in its index, for those who still search it.
   */
  public void succeededBy(WorkerBlocks other) {
    writing.lock();
    try {
      if (open) {
        predictions.handOver(segments).forEachRemaining(other::take);
        open = false;
        heir = other;
      }
    } finally {
      unlock();
    }
  }

  /** Lets a key name a placed row with copies in each tier, 8 bits each; false when the budget does not allow it. */
  boolean name(long key, int placedRow, int copies) {
    if (renames == renamed.length || (keys.find(key) < 0 && !keys.reserve(1))) {
      return false;
    }
    int row = placedRow;
    for (int tier = 0; tier < TIERS; tier++) {
      int these = (copies >>> (8 * tier)) & KeyMap.MAX_COPIES;
      if (these != 0) {
        if (!name(key, row, tier, true)) {
          return row != placedRow;
        }
        int at = keys.find(key);
        keys.setValue(at, KeyMap.withCopies(keys.value(at), tier, these));
        row = placedRow & ~Rows.FRESH;
      }
    }
    return true;
  }

  /** Takes the bit off a placed row that no key came to name. */
  void unname(int row) {
    leave(row);
  }

  /** Ends a batch of {@link #name}. */
  void settle() {
    while (renames > 0) {
      leave(renamed[--renames]);
    }
    flush();
  }

  /** Engine keys that name a block, in whatever tier. Any thread. */
  public int size() {
    writing.lock();
    try {
      return keys.size();
    } finally {
      unlock();
    }
  }

  /** Blocks that are only predicted. Any thread, wait-free. */
  public int predicted() {
    return predicted;
  }

  /** Places a prediction, or takes it back: now, or when the call that is writing is over. Never waits. */
  void work(Prediction prediction) {
    WorkerBlocks next = heir;
    if (next != null) {
      next.work(prediction);
    } else if (writing.tryLock()) {
      try {
        workOff(prediction);
      } finally {
        unlock();
      }
    } else if (waitingCount.incrementAndGet() > MOST_WAITING) {
      waitingCount.decrementAndGet();
      if (!prediction.isPlaced()) {
        index.refuse(prediction.hashes().length);
        prediction.placed(0, 0, 0, 0);
      }
    } else {
      waiting.add(prediction);
      if (writing.tryLock()) {
        unlock();
      }
    }
  }

  /** Lets the next writer in, and before it does what was left behind. */
  private void unlock() {
    do {
      try {
        workOff();
      } finally {
        writing.unlock();
      }
    } while (!waiting.isEmpty() && writing.tryLock());
  }

  private void workOff() {
    while (waitingCount.get() != 0) {
      Prediction next = waiting.poll();
      if (next == null) {
        break; // counted, and about to be added
      }
      waitingCount.decrementAndGet();
      workOff(next);
    }
    if (predicted != predictions.size()) {
      predicted = predictions.size();
    }
  }

  private void workOff(Prediction prediction) {
    WorkerBlocks next = heir;
    if (next != null) {
      next.work(prediction);
    } else if (prediction.isPlaced()) {
      if (open) {
        predictions.takeBack(prediction);
      }
    } else if (open && !prediction.isRetracted()) {
      index.refuse(predictions.place(prediction));
    } else {
      prediction.placed(0, 0, 0, 0);
    }
  }

  /** The nearest tier of a row the worker holds. Any thread, wait-free. */
  Tier tier(int row) {
    return tiers.isEmpty() ? Tier.DEVICE : TierCounts.nearest(tiers.get(row));
  }

  /** Stops the writer: when this returns, no call changes anything any more. */
  void close() {
    writing.lock();
    try {
      open = false;
    } finally {
      unlock();
    }
  }

  /** Whether it is stopped. Any thread. */
  boolean isClosed() {
    writing.lock();
    try {
      return !open;
    } finally {
      unlock();
    }
  }

  /** Gives the memory of a stopped worker's maps back. */
  void forget() {
    writing.lock();
    try {
      keys.clear();
      tiers.clear();
      predictions.clear();
    } finally {
      unlock();
    }
  }
}
