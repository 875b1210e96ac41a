package io.kvasir.cell;

import io.kvasir.routing.Booking;
import java.util.concurrent.atomic.AtomicInteger;

/** A reservation in the ledger of a cell that is at home on this node. Thread-safe. */
final class BookedReservation implements Reservation {
  private static final int PENDING = 0;
  private static final int READING = 1;
  private static final int SETTLED = 2;
  private static final int CLOSED = 3;

  private final Member member;
  private final Booking booking;
  private final Booking reading;
  private final String model;
  private final Forecast forecast;

  /** What had been booked there before, estimated milliseconds. */
  private final double queueMs;

  /** Whether the worker's silence says something before the first token, too: it reads the prompt and streams. */
  private final boolean awaited;

  private final AtomicInteger state = new AtomicInteger(PENDING);

  /**
   * Takes over a booking that has been made on the member's load.
   *
   * @param reading what it becomes when the worker has to read the prompt itself; the same where it does anyway
   * @param stream whether the answer comes token by token
   */
  BookedReservation(
      Member member, Booking booking, Booking reading, String model, Forecast forecast, boolean stream) {
    this.member = member;
    this.booking = booking;
    this.reading = reading;
    this.model = model;
    this.forecast = forecast;
    this.queueMs = Math.max(0, member.load().queueMs() - booking.prefillMicros() / 1e3);
    this.awaited = stream && booking.equals(reading);
    if (awaited) {
      member.health().progress().streamBegun();
    }
  }

  @Override
  public void firstToken() {
    if (state.compareAndSet(PENDING, SETTLED)) {
      member.load().settle(booking);
    } else if (state.compareAndSet(READING, SETTLED)) {
      member.load().settle(reading);
    } else {
      return;
    }
    if (!awaited) {
      member.health().progress().streamBegun();
    }
    member.moved();
  }

  @Override
  public void moved() {
    member.moved();
  }

  @Override
  public void readsPrompt() {
    if (state.compareAndSet(PENDING, READING)) {
      member.load().rebook(booking, reading);
    }
  }

  @Override
  public void close(Outcome outcome) {
    int was = state.getAndSet(CLOSED);
    if (was == CLOSED) {
      return;
    }
    if (was == PENDING || was == READING) {
      member.load().settle(was == PENDING ? booking : reading);
      if (!(outcome instanceof Outcome.Completed)) {
        forecast.retract();
      }
    } else if (outcome instanceof Outcome.Completed completed && booking.equals(reading)) {
      // Of an answer that came whole its first byte says nothing of its first token, nor does that of a prompt read
      // elsewhere say what reading it costs.
      member.begun(booking, queueMs, completed);
    }
    member.load().release(booking);
    if (awaited || was == SETTLED) {
      member.health().progress().streamEnded();
    }
    member.ended(model, outcome, booking.promptTokens(), forecast);
  }
}
