package io.kvasir.index;

import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The blocks that one worker holds, by the keys its engine gives them: the handle through which they are written. One
 * writing thread at a time; predictions may come from any thread.
 *
 * <p>A key names one block: stored again with another chain hash it names that one, and the older block
 * counts as removed. Several keys may name one block, which is held until the last of them is removed; a
 * block is held while a copy is left in some tier. Removing a block leaves its children: the chain then
 * has a hole. After {@link BlockIndex#retire} every call does nothing.
 *
 * <p>A block may also be {@link #predict predicted}: found by every search though no key names it, until one does, the
 * prediction is retracted, or it expires. For an engine without events there are only predictions; they stay until
 * newer ones need their room ({@link BlockIndex#open(int, int)}). Predicting never waits for the writer
 * ({@link CombiningLock}).
 *
 * <p>When the index's memory budget is reached no new blocks are registered (they are counted, see
 * {@link BlockIndex#refused}); what is held stays exact and can be removed, which makes room again.
 */
public final class WorkerBlocks {
  private final int word;
  private final long bit;
  private final int slots;
  private final LongAdder refused;
  private final Segments segments;
  private final Shards shards;
  private final Rows rows;
  private final Predictions predictions;
  private final KeyedBlocks keyed;
  private final CombiningLock<Prediction> lock = new CombiningLock<>(new PredictionApplier());
  private final Consumer<Prediction> submit = this::submit;
  private volatile int size;
  private volatile int predicted;
  private boolean open = true;
  private volatile @Nullable WorkerBlocks successor;

  /**
   * A handle on an empty slot.
   *
   * @param refused counts the blocks that the memory budget had no room for
   * @param maxPredicted predicted blocks kept at a time, at least 1
   */
  WorkerBlocks(
      int slot,
      Segments segments,
      Shards shards,
      Rows rows,
      Budget budget,
      LongAdder refused,
      Evictions evictions,
      int maxPredicted) {
    this.word = slot >>> 6;
    this.bit = 1L << slot;
    this.slots = Long.SIZE * segments.width();
    this.refused = refused;
    this.segments = segments;
    this.shards = shards;
    this.rows = rows;
    this.predictions = new Predictions(slot, segments, rows, budget, evictions, maxPredicted);
    this.keyed = new KeyedBlocks(slot, segments, shards, rows, predictions, evictions, budget);
  }

  /** The chain hash of the block the engine calls {@code key}, {@link BlockHash#NONE} if it is not held. */
  public long hashOf(long key) {
    try (var _ = lock.acquire()) {
      return keyed.hashOf(key);
    }
  }

  /** Whether the block the engine calls {@code key} is held in a tier. */
  public boolean holds(long key, Tier tier) {
    try (var _ = lock.acquire()) {
      return keyed.holds(key, tier);
    }
  }

  /**
   * Registers {@code count} blocks that follow one another, the first of them after {@code parentKey}.
   *
   * @param root whether the first block has no parent; {@code parentKey} is then ignored
   * @param blockKeys the engine's keys
   * @param hashes their chain hashes, none of them {@link BlockHash#NONE}
   * @param counted whether each call adds a copy that one removal removes (a sequenced stream; up to 255 copies are
   *     counted), or the block is merely present (set semantics)
   * @return how many could be registered: less than {@code count} only when the memory budget is reached
   *     or the worker is retired
   * @throws IllegalStateException when the parent is not held
   * @throws IllegalArgumentException when a hash is {@link BlockHash#NONE}
   */
  public int store(
      long parentKey, boolean root, long[] blockKeys, long[] hashes, int count, Tier tier, boolean counted) {
    try (var _ = lock.acquire()) {
      if (!open) {
        return 0;
      }
      checkHashes(hashes, count);
      int stored = keyed.store(parentKey, root, blockKeys, hashes, count, tier, counted);
      refused.add(count - stored);
      return stored;
    }
  }

  /**
   * Adds a copy to each block that a key names already, in whatever tier.
   *
   * @param counted as for {@link #store}
   * @return how many keys name a block
   */
  public int copy(long[] blockKeys, Tier tier, boolean counted) {
    try (var _ = lock.acquire()) {
      return open ? keyed.copy(blockKeys, tier, counted) : 0;
    }
  }

  private static void checkHashes(long[] hashes, int count) {
    for (int i = 0; i < count; i++) {
      if (hashes[i] == BlockHash.NONE) {
        throw new IllegalArgumentException("hashes[" + i + "] is 0, which names no block: use BlockHash.chained");
      }
    }
  }

  /** Removes one copy of a block from a tier; returns whether it was the last one there. Unknown keys are ignored. */
  public boolean remove(long key, Tier tier, boolean counted) {
    try (var _ = lock.acquire()) {
      return open && keyed.remove(key, tier, counted);
    }
  }

  /**
   * Removes one copy of each of the first {@code count} blocks, as {@link #remove(long, Tier, boolean)} does, and
   * faster. Returns how many were the last in the tier.
   */
  public int remove(long[] blockKeys, int count, Tier tier, boolean counted) {
    try (var _ = lock.acquire()) {
      return open ? keyed.remove(blockKeys, count, tier, counted) : 0;
    }
  }

  /** Removes all blocks from a tier; predicted blocks count as the device's. */
  public void clear(Tier tier) {
    try (var _ = lock.acquire()) {
      if (open) {
        keyed.clear(tier);
        if (tier == Tier.DEVICE) {
          predictions.clear();
        }
      }
    }
  }

  /** Removes all blocks, predicted ones included. */
  public void clear() {
    try (var _ = lock.acquire()) {
      if (open) {
        keyed.clear();
        predictions.clear();
      }
    }
  }

  /**
   * Predicts that the worker will soon hold the blocks of a prompt, because the prompt is being sent there: blocks it
   * does not hold count as held until a key names them, {@link #expire} removes them, or every prediction of them is
   * {@link Prediction#retract retracted}. Any thread; never waits.
   *
   * @param hashes the chain hashes of the prompt from its first block on, none of them
   *     {@link BlockHash#NONE}; not changed afterwards
   * @param expiry when it expires, on the clock of {@link #expire}; {@link Long#MAX_VALUE} for never
   * @throws IllegalArgumentException when a hash is {@link BlockHash#NONE}
   */
  public Prediction predict(long[] hashes, long expiry) {
    checkHashes(hashes, hashes.length);
    Prediction prediction = new Prediction(submit, hashes, expiry);
    submit(prediction);
    return prediction;
  }

  /** Removes predicted blocks that have expired by {@code now}. */
  public void expire(long now) {
    try (var _ = lock.acquire()) {
      if (open) {
        predictions.expire(now);
      }
    }
  }

  /**
   * The blocks that keys name, in parts to be {@link #take taken} by a worker of another index. Nothing may be stored
   * or removed before the last part was read.
   */
  public HandOver handOver() {
    try (var _ = lock.acquire()) {
      return keyed.handOver();
    }
  }

  /**
   * Adds a part of the blocks that a worker of another index holds; every call then has the effect it would have had
   * there. Parts have to be added in their order. A key that is present already keeps its block and gets the copies of
   * the part.
   *
   * <p>The other index may have more slots, or fewer. Exact as long as everything in this index was handed over from
   * that one; rows that other sources added meanwhile may keep a search from finding a block whose parent the worker
   * does not hold.
   *
   * @return how many blocks could not be registered because the memory budget is reached
   */
  public int take(Holdings part) {
    try (var _ = lock.acquire()) {
      int count = open ? takeOver(part) : 0;
      refused.add(count);
      return count;
    }
  }

  private int takeOver(Holdings part) {
    return switch (part) {
      case Holdings.Blocks blocks -> new TakeOver(keyed, segments, shards, rows, word, bit).take(blocks);
      case Holdings.Predicted rest -> predictions.take(rest);
    };
  }

  /**
   * Closes this handle in favour of one of another index, which has taken all parts of {@link #handOver}: hands over
   * the predicted blocks, and forwards to it what is predicted or retracted from now on. Every other call does nothing
   * any more. What was written here stays in its index, which may still be searched.
   */
  public void succeededBy(WorkerBlocks other) {
    try (var _ = lock.acquire()) {
      if (open) {
        predictions.handOver(segments).forEachRemaining(other::take);
        open = false;
        successor = other;
      }
    }
  }

  /** The number of slots of the index: 64, 128 or 256. */
  public int slots() {
    return slots;
  }

  /** The number of engine keys that name a block, in any tier, after the last finished write. Any thread, wait-free. */
  public int size() {
    return size;
  }

  /** The number of blocks that are only predicted, after the last finished write. Any thread, wait-free. */
  public int predicted() {
    return predicted;
  }

  /**
   * The number of a chain's leading blocks that the engine itself has reported; what is only predicted ends them. Any
   * thread; waits for a write in progress.
   */
  public int reported(long[] hashes) {
    WorkerBlocks next = successor;
    if (next != null) {
      return next.reported(hashes);
    }
    try (var _ = lock.acquire()) {
      return open ? predictions.reported(hashes) : 0;
    }
  }

  /** Waits for the write in progress, at whose end what has been predicted meanwhile is placed. Any thread. */
  public void awaitWrite() {
    WorkerBlocks next = successor;
    if (next != null) {
      next.awaitWrite();
    } else {
      try (var _ = lock.acquire()) {
        // Closing it places what is left.
      }
    }
  }

  /** Places a prediction, or retracts it if it was placed: now, or at the end of the write in progress. Never waits. */
  void submit(Prediction prediction) {
    WorkerBlocks next = successor;
    if (next != null) {
      next.submit(prediction);
    } else {
      lock.submit(prediction);
    }
  }

  private final class PredictionApplier implements CombiningLock.PendingWork<Prediction> {
    @Override
    public void apply(Prediction prediction) {
      WorkerBlocks next = successor;
      if (next != null) {
        next.submit(prediction);
      } else if (prediction.isPlaced()) {
        if (open) {
          predictions.retract(prediction);
        }
      } else if (open && !prediction.isRetracted()) {
        refused.add(predictions.place(prediction));
      } else {
        prediction.placed(0, 0, 0, 0);
      }
    }

    @Override
    public void reject(Prediction prediction) {
      if (!prediction.isPlaced()) {
        refused.add(prediction.hashes().length);
        prediction.placed(0, 0, 0, 0);
      }
    }

    @Override
    public void beforeUnlock() {
      if (size != keyed.size()) {
        size = keyed.size();
      }
      if (predicted != predictions.size()) {
        predicted = predictions.size();
      }
    }
  }

  /** The nearest tier of a row the worker holds. Any thread, wait-free. */
  Tier tier(int row) {
    return keyed.tier(row);
  }

  /** Closes the handle: when this returns, no call changes anything any more. */
  void close() {
    try (var _ = lock.acquire()) {
      open = false;
    }
  }

  /** Whether it is closed. Any thread. */
  boolean isClosed() {
    try (var _ = lock.acquire()) {
      return !open;
    }
  }

  /** Releases the memory of a closed handle's maps. */
  void freeMaps() {
    try (var _ = lock.acquire()) {
      keyed.free();
      predictions.clear();
    }
  }
}
