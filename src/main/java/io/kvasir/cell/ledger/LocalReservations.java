package io.kvasir.cell.ledger;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/**
 * The open reservations of this node itself in a cell whose home it is. When the cell leaves the node and the node
 * stays up, they are declared to the cell's next home. Thread-safe.
 */
public final class LocalReservations {
  private final Supplier<NextHome> nextHome;
  private final Set<BookedReservation> open = ConcurrentHashMap.newKeySet();
  private volatile boolean handedOver;

  /**
   * No reservations yet.
   *
   * @param nextHome the client of the cell's next home
   */
  public LocalReservations(Supplier<NextHome> nextHome) {
    this.nextHome = nextHome;
  }

  /** Keeps a reservation until it is closed. */
  public void add(BookedReservation reservation) {
    open.add(reservation);
    if (handedOver) {
      handOverOpen();
    }
  }

  void remove(BookedReservation reservation) {
    open.remove(reservation);
  }

  /** Whether none is open. */
  public boolean isEmpty() {
    return open.isEmpty();
  }

  /** Declares what is open, and what is added later, to the next home: the cell has left this node. */
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
