package io.kvasir.routing;

import io.kvasir.index.Chain;

/**
 * A cell's workers, index and load ledger as routing uses them. The cell's view implements it in service, the
 * laboratory in simulated time. Every method is wait-free and called on the deciding thread.
 */
public interface Fleet {
  /** Slots of the cell: 64, 128 or 256. */
  int slots();

  /** Fills the columns with the workers that are alive, healthy and not draining, and their load as of now. */
  void snapshot(Candidates candidates);

  /**
   * Fills {@link Candidates#depth} for the remaining candidates: by the chain, or where an engine prepares the prompt
   * as one of the {@link Candidates#renditions}, by that, which {@link Candidates#preparedAs} is then told.
   */
  void search(Chain chain, Candidates candidates);

  /**
   * Writes what workers hold that are no candidates, as {@link #search} does for those that are.
   *
   * @param slots a bitmap of them
   * @param depth by slot; others are left as they are
   */
  default void searchOthers(Chain chain, long[] slots, int[] depth) {
    for (int word = 0; word < slots.length; word++) {
      for (long left = slots[word]; left != 0; left &= left - 1) {
        depth[(word << 6) + Long.numberOfTrailingZeros(left)] = 0;
      }
    }
  }

  /**
   * Counts the chain's leading blocks that a worker holds by tier: adds each to {@code blocks} at the {@link
   * io.kvasir.index.Tier#index} of its nearest tier. Walks the chain block by block, so it is for a few workers.
   *
   * @return how many blocks were counted; 0 when tiers are not known
   */
  default int tiers(Chain chain, int slot, int[] blocks) {
    return 0;
  }

  /**
   * Counts the chain's leading blocks that a worker's engine itself has reported to hold; 0 when that is not known.
   * Walks the chain, so it is for a few workers.
   */
  default int reported(Chain chain, int slot) {
    return 0;
  }

  /**
   * The share of what a worker pulls from others, or they from it, that is found there: 0 to 1, by what answers have
   * shown lately.
   */
  default double pullYield(int slot) {
    return 1;
  }

  /**
   * Leading blocks of the chain that a cache layer has reported as stored for the worker: a hint, since removals are
   * not reported. 0 when nothing is known.
   */
  default int hintedBlocks(Chain chain, int slot) {
    return 0;
  }

  /**
   * Books load on a worker, atomically with the check that it has room.
   *
   * @return false when the worker is full, stopped or draining; nothing is then booked
   */
  boolean reserve(int slot, Booking booking);

  /** Cancels what {@link #reserve} booked: the worker is not part of the plan. */
  void cancel(int slot, Booking booking);
}
