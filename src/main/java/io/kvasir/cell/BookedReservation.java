package io.kvasir.cell;

import io.kvasir.routing.Booking;
import java.util.concurrent.atomic.AtomicInteger;

/** A reservation in the ledger of a cell that is at home on this node. Thread-safe. */
final class BookedReservation implements Reservation {
  private static final int PENDING = 0;
  private static final int SETTLED = 1;
  private static final int CLOSED = 2;

  private final Member member;
  private final Booking booking;
  private final String model;
  private final Forecast forecast;
  private final AtomicInteger state = new AtomicInteger(PENDING);

  /** Takes over a booking that has been made on the member's load. */
  BookedReservation(Member member, Booking booking, String model, Forecast forecast) {
    this.member = member;
    this.booking = booking;
    this.model = model;
    this.forecast = forecast;
  }

  @Override
  public void firstToken() {
    if (state.compareAndSet(PENDING, SETTLED)) {
      member.load().settle(booking);
    }
  }

  @Override
  public void close(Outcome outcome) {
    int was = state.getAndSet(CLOSED);
    if (was == CLOSED) {
      return;
    }
    if (was == PENDING) {
      member.load().settle(booking);
      if (!(outcome instanceof Outcome.Completed)) {
        forecast.retract();
      }
    }
    member.load().release(booking);
    member.ended(model, outcome, booking.promptTokens(), forecast);
  }
}
