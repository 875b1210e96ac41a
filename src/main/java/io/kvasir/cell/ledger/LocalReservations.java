package io.kvasir.cell.ledger;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/**
 * Reservations that this node itself has in the ledger of a cell at home here. When the cell leaves the node and the
 * node lives on, its next home is to hear of them. Thread-safe.
 */
public final class LocalReservations {
  private final Supplier<NextHome> nextHome;
  private final Set<BookedReservation> open = ConcurrentHashMap.newKeySet();
  private volatile boolean handedOver;

  /**
   * None yet.
   *
   * @param way to the cell's next home
   */
  public LocalReservations(Supplier<NextHome> way) {
    this.nextHome = way;
  }

  /** Keeps one until it is closed. */
  public void add(BookedReservation reservation) {
    open.add(reservation);
    if (handedOver) {
      handOverOpen();
    }
  }

  void remove(BookedReservation reservation) {
    open.remove(reservation);
  }

  /** The cell has left: whatever is open, or comes late, is the next home's. */
  public void handOver() {
    handedOver = true;
    handOverOpen();
  }

  private void handOverOpen() {
    for (BookedReservation reservation : List.copyOf(open)) {
      if (open.remove(reservation)) {
        reservation.moveTo(nextHome.get());
      }
    }
  }
}
