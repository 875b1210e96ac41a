/**
 * Reservations: what is booked on workers, for which node and until when. Whichever room implements a reservation, its
 * states are those of a {@link io.kvasir.cell.ledger.ReservationLifecycle}, and it is closed exactly once. At the
 * cell's home it is a {@link io.kvasir.cell.ledger.BookedReservation}, made by a decision, which may be held for {@code
 * EarlierRequests}; or an {@link io.kvasir.cell.ledger.AdoptedReservation}, of a node that had the load in flight
 * before the cell came. What both of them have on their worker is a {@code BookedLoad}. {@link
 * io.kvasir.cell.ledger.LeasedReservations} holds those of other nodes under the ids that they gave them, and gives
 * back what is not among the {@link io.kvasir.cell.ledger.OpenReservations} that a node declares; {@link
 * io.kvasir.cell.ledger.LocalReservations} keeps this node's own, and declares them to the next home when the cell
 * leaves.
 */
@NullMarked
package io.kvasir.cell.ledger;

import org.jspecify.annotations.NullMarked;
