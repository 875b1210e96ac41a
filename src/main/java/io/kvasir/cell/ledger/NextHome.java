package io.kvasir.cell.ledger;

import io.kvasir.cell.Reservation;
import io.kvasir.routing.Booking;
import io.kvasir.routing.Worker;

/** The next home of a cell that has left this node, for what this node has in flight there. */
@FunctionalInterface
public interface NextHome {
  /**
   * Takes over a load that this node's home has booked, and that the next one does not know.
   *
   * @param model as the request named it
   * @param readsPrompt whether the worker reads the prompt; otherwise it takes it from another one
   */
  Reservation takeOver(Worker worker, String model, Booking booking, boolean readsPrompt);
}
