package io.kvasir.cell.client;

import io.kvasir.cell.ledger.InFlightLoad;
import io.kvasir.cell.ledger.LeasedReservations;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What this node has in flight on workers of a cell whose ledger it does not keep: booked at a home on another node, or
 * chosen while there was no home. A home that is new to it is told all of it, so that the ledger is whole again.
 *
 * <p>A home is known by its incarnation, which every decision of it tells. What ends while it is being told may be
 * heard of before: the home {@linkplain LeasedReservations remembers} it. Thread-safe.
 */
final class InFlightLoads {
  private final HomeNotifier notifier;
  private final Set<RemoteReservation> open = ConcurrentHashMap.newKeySet();
  private volatile long home;
  private volatile boolean undeclared; // whether there may be loads that the home has not been told of

  /**
   * The loads of one cell.
   *
   * @param told tells the cell's home, wherever it is
   */
  InFlightLoads(HomeNotifier told) {
    this.notifier = told;
  }

  /**
   * A load begins.
   *
   * @param booked the home that has it in its ledger, {@link RemoteReservation#NONE} if none does
   */
  void opened(RemoteReservation reservation, long booked) {
    open.add(reservation);
    if (booked != home) {
      undeclared = true;
    }
  }

  void closed(RemoteReservation reservation) {
    open.remove(reservation);
  }

  /** A home has decided: if it is a new one it is told what it cannot know. Two volatile reads otherwise. */
  void decidedBy(long incarnation) {
    if (incarnation != home || undeclared) {
      declare(incarnation);
    }
  }

  private synchronized void declare(long incarnation) {
    home = incarnation;
    // Before the loads are looked at: one that begins now is seen, or is left for the next time.
    undeclared = false;
    List<InFlightLoad> declared = new ArrayList<>();
    for (RemoteReservation reservation : open) {
      InFlightLoad load = reservation.declareTo(incarnation);
      if (load != null) {
        declared.add(load);
      }
    }
    if (!declared.isEmpty()) {
      notifier.declare(incarnation, declared);
    }
  }
}
