package io.kvasir.cell.view;

import io.kvasir.index.Chain;
import io.kvasir.routing.Booking;
import io.kvasir.routing.Candidates;
import io.kvasir.routing.Fleet;

/** A fleet in which each worker has a place more, for dry runs: nothing can be booked. Used by one thread. */
record RoomierFleet(Fleet fleet) implements Fleet {
  @Override
  public int slots() {
    return fleet.slots();
  }

  @Override
  public void snapshot(Candidates candidates) {
    fleet.snapshot(candidates);
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      candidates.inFlight[slot] = Math.max(0, candidates.inFlight[slot] - 1);
    }
  }

  @Override
  public void search(Chain chain, Candidates candidates) {
    fleet.search(chain, candidates);
  }

  @Override
  public void searchOthers(Chain chain, long[] slots, int[] depth) {
    fleet.searchOthers(chain, slots, depth);
  }

  @Override
  public int tiers(Chain chain, int slot, int[] blocks) {
    return fleet.tiers(chain, slot, blocks);
  }

  @Override
  public int reported(Chain chain, int slot) {
    return fleet.reported(chain, slot);
  }

  @Override
  public double pullYield(int slot) {
    return fleet.pullYield(slot);
  }

  @Override
  public int hintedBlocks(Chain chain, int slot) {
    return fleet.hintedBlocks(chain, slot);
  }

  @Override
  public boolean reserve(int slot, Booking booking) {
    throw new IllegalStateException("a place that a worker does not have was to be booked");
  }

  @Override
  public void cancel(int slot, Booking booking) {
    throw new IllegalStateException("a place that a worker does not have was to be given back");
  }
}
