/**
 * What is booked on workers, by whom and until when. A reservation takes the same steps whoever keeps it ({@link
 * io.kvasir.cell.ledger.ReservationLifecycle}) and is closed exactly once: one of this node's own is a {@link
 * io.kvasir.cell.ledger.BookedReservation}, those of other nodes are {@link io.kvasir.cell.ledger.LeasedReservations},
 * and what they had in flight before the cell came here are {@link io.kvasir.cell.ledger.AdoptedReservation}s. When the
 * cell leaves, {@link io.kvasir.cell.ledger.LocalReservations} hands this node's own on to the next home.
 */
@NullMarked
package io.kvasir.cell.ledger;

import org.jspecify.annotations.NullMarked;
