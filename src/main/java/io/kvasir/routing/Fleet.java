package io.kvasir.routing;

import io.kvasir.index.Chain;

/**
 * What routing sees of a cell. The cell's view implements it in service, the laboratory in simulated
 * time. Every method is wait-free and called on the thread that decides.
 */
public interface Fleet {
  /** Slots of the cell: 64, 128 or 256. */
  int slots();

  /** Fills the columns with the workers that are alive, healthy and not draining, and their load as of now. */
  void snapshot(Candidates candidates);

  /** Fills {@link Candidates#depth} for the candidates still in. */
  void search(Chain chain, Candidates candidates);

  /**
   * Tells in which tiers a worker holds the chain's leading blocks: adds their number to {@code blocks}, at the {@link
   * io.kvasir.index.Tier#index} of each one's nearest tier, and returns how many those are. Walks the chain block by
   * block, so it is for the few workers that matter. 0 when the fleet cannot tell.
   */
  default int tiers(Chain chain, int slot, int[] blocks) {
    return 0;
  }

  /**
   * How many leading blocks of the chain a cache beside the worker's engine was once said to hold: a hint, for what it
   * has removed since nobody told. 0 when nothing is known of one.
   */
  default int hintedBlocks(Chain chain, int slot) {
    return 0;
  }

  /**
   * Books load on a worker in one step with the check that it has room: false when it is full, gone or
   * draining, and nothing is then booked.
   */
  boolean reserve(int slot, Booking booking);

  /** Takes back what {@link #reserve} booked: the worker gets no part in the plan. */
  void cancel(int slot, Booking booking);
}
