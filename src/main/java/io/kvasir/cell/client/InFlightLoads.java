package io.kvasir.cell.client;

import io.kvasir.cell.ledger.CorrelationIds;
import io.kvasir.cell.ledger.InFlightLoad;
import io.kvasir.cell.ledger.LeasedReservations;
import io.kvasir.cell.ledger.OpenReservations;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What this node has in flight on workers of a cell whose ledger it does not keep: booked at a home on another node, or
 * chosen while there was no home. All of it is declared to a new home, so that its ledger is complete again.
 *
 * <p>A home is identified by its incarnation, which every decision of it carries. The end of a load may arrive before
 * its declaration: the home {@linkplain LeasedReservations remembers} it. Thread-safe.
 */
final class InFlightLoads {
  /** The most loads of one message, which has to fit a frame of the cluster. */
  private static final int MAX_DECLARED = 500;

  private final HomeNotifier notifier;
  private final Set<RemoteReservation> open = ConcurrentHashMap.newKeySet();

  /** The requests that the home is to learn of when they are sent; also those whose decision has not come yet. */
  private final Set<Long> awaited = ConcurrentHashMap.newKeySet();

  private volatile long home;
  private volatile boolean undeclared; // whether there may be loads that were not declared to the home

  /**
   * The loads of one cell.
   *
   * @param notifier notifies the cell's home, whichever node that is
   */
  InFlightLoads(HomeNotifier notifier) {
    this.notifier = notifier;
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
    boolean _ = takeAwaited(reservation.id());
  }

  /** The home takes a request back; nothing when it is over. */
  void preempt(long reservation) {
    find(reservation).ifPresent(RemoteReservation::preempt);
  }

  /** The home is to learn that a request is sent: now, if it is, or as soon as it is. */
  void reportSent(long reservation) {
    awaited.add(reservation);
    find(reservation).ifPresent(RemoteReservation::reportSent);
  }

  private Optional<RemoteReservation> find(long reservation) {
    return open.stream().filter(each -> each.id() == reservation).findAny();
  }

  /** Whether the home is to learn that this request is sent. Once. */
  boolean takeAwaited(long reservation) {
    return !awaited.isEmpty() && awaited.remove(reservation);
  }

  /**
   * The ids of what is open now.
   *
   * @param below see {@link OpenReservations#below}; read before this is called
   */
  List<OpenReservations> openReservations(long below) {
    // Those that are open are taken when they are closed.
    awaited.removeIf(id -> CorrelationIds.of(id) < below && find(id).isEmpty());
    return OpenReservations.declarations(below, open.stream().map(RemoteReservation::id).toList());
  }

  /** Declares the loads to a home that has decided, if it is a new one; two volatile reads otherwise. */
  void decidedBy(long incarnation) {
    if (incarnation != home || undeclared) {
      declare(incarnation);
    }
  }

  private synchronized void declare(long incarnation) {
    home = incarnation;
    // Before the loads are read: one that begins now is among them, or is left for the next time.
    undeclared = false;
    List<InFlightLoad> declared = new ArrayList<>();
    for (RemoteReservation reservation : open) {
      InFlightLoad load = reservation.declareTo(incarnation);
      if (load != null) {
        declared.add(load);
      }
    }
    for (int begin = 0; begin < declared.size(); begin += MAX_DECLARED) {
      notifier.declare(
          incarnation, List.copyOf(declared.subList(begin, Math.min(declared.size(), begin + MAX_DECLARED))));
    }
  }
}
