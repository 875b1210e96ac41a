package io.kvasir.cell.client;

import io.kvasir.cell.ledger.InFlightLoad;
import io.kvasir.cell.ledger.ReservationEvent;
import java.util.List;

/** What a node tells a cell's home of the requests it has there. */
interface HomeNotifier {
  /** What has become of a reservation. */
  void reservationChanged(ReservationEvent notice);

  /** Loads that a home cannot know of, for one incarnation of it alone. */
  void declare(long incarnation, List<InFlightLoad> loads);
}
