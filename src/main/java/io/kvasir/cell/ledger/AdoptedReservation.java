package io.kvasir.cell.ledger;

import io.kvasir.cell.Outcome;
import io.kvasir.cell.Reservation;
import io.kvasir.cell.ledger.ReservationLifecycle.State;
import io.kvasir.cell.worker.HitPrediction;
import io.kvasir.cell.worker.Member;
import io.kvasir.index.Chain;
import io.kvasir.routing.Booking;

/**
 * A reservation that a cell did not make itself: another node declared it when the cell came to its home. It counts as
 * any other; nothing was predicted of it, and it teaches nothing of what prompts cost. Thread-safe.
 */
public final class AdoptedReservation implements Reservation {
  private final Member member;
  private final String model;
  private final Booking booking;
  private final Booking localPrefill;
  private final ReservationLifecycle lifecycle = new ReservationLifecycle();

  /**
   * Books the load, whether there is room for it or not: it is there already.
   *
   * @param booking what it is now
   * @param reading what it becomes when the worker reads the prompt itself; the same where it does anyway
   */
  public AdoptedReservation(Member member, String model, Booking booking, Booking reading) {
    this.member = member;
    this.model = model;
    this.booking = booking;
    this.localPrefill = reading;
    member.load().add(booking);
  }

  @Override
  public void firstToken() {
    State was = lifecycle.settle();
    if (was == null) {
      return;
    }
    member.load().settle(pending(was));
    member.health().stallDetector().streamStarted();
    member.progressed();
  }

  @Override
  public void progressed() {
    member.progressed();
  }

  @Override
  public void prefillLocally() {
    if (!booking.equals(localPrefill) && lifecycle.prefillLocally()) {
      member.load().rebook(booking, localPrefill);
    }
  }

  @Override
  public void close(Outcome outcome) {
    State was = lifecycle.close();
    if (was == null) {
      return;
    }
    if (was == State.SETTLED) {
      member.health().stallDetector().streamEnded();
    } else {
      member.load().settle(pending(was));
    }
    member.load().release(booking);
    member.requestEnded(model, outcome, booking.promptTokens(), HitPrediction.none(Chain.EMPTY));
  }

  /** What is pending of it before its first token. */
  private Booking pending(State before) {
    return before == State.PREFILLING_LOCALLY ? localPrefill : booking;
  }
}
