package io.kvasir.cell.client;

import io.kvasir.cell.ledger.InFlightLoad;
import io.kvasir.cell.ledger.OpenReservations;
import io.kvasir.cell.ledger.ReservationEvent;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Notifies a cell's home of what becomes of this node's requests there. */
interface HomeNotifier {
  /** Sends what has become of a reservation, in a moment or with the next request. */
  void reservationChanged(ReservationEvent event);

  /** Declares loads that a home cannot know of; for one incarnation of it alone. */
  void declare(long incarnation, List<InFlightLoad> loads);

  /**
   * Declares the reservations that are open here.
   *
   * @return completes with whether the home has received it
   */
  CompletableFuture<Boolean> declareOpen(OpenReservations open);
}
