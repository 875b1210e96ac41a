package io.kvasir.cell;

import io.kvasir.index.Chain;
import io.kvasir.routing.Booking;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A reservation that a cell did not make itself: another node declared it when the cell came to its home. It counts as
 * any other; nothing was predicted of it, and it teaches nothing of what prompts cost. Thread-safe.
 */
final class AdoptedReservation implements Reservation {
  private static final int PENDING = 0;
  private static final int READING = 1;
  private static final int SETTLED = 2;
  private static final int CLOSED = 3;

  private final Member member;
  private final String model;
  private final Booking booking;
  private final Booking reading;
  private final AtomicInteger state = new AtomicInteger(PENDING);

  /**
   * Books the load, whether there is room for it or not: it is there already.
   *
   * @param booking what it is now
   * @param reading what it becomes when the worker reads the prompt itself; the same where it does anyway
   */
  AdoptedReservation(Member member, String model, Booking booking, Booking reading) {
    this.member = member;
    this.model = model;
    this.booking = booking;
    this.reading = reading;
    member.load().add(booking);
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
    member.health().progress().streamBegun();
    member.moved();
  }

  @Override
  public void moved() {
    member.moved();
  }

  @Override
  public void readsPrompt() {
    if (!booking.equals(reading) && state.compareAndSet(PENDING, READING)) {
      member.load().rebook(booking, reading);
    }
  }

  @Override
  public void close(Outcome outcome) {
    switch (state.getAndSet(CLOSED)) {
      case PENDING -> member.load().settle(booking);
      case READING -> member.load().settle(reading);
      case SETTLED -> member.health().progress().streamEnded();
      default -> {
        return;
      }
    }
    member.load().release(booking);
    member.ended(model, outcome, booking.promptTokens(), Forecast.none(Chain.EMPTY));
  }
}
