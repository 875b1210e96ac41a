package io.kvasir.cell.ledger;

import io.kvasir.cell.Outcome;
import io.kvasir.cell.PrefixHold;
import io.kvasir.cell.Reservation;
import io.kvasir.cell.ledger.ReservationLifecycle.State;
import io.kvasir.cell.worker.HitPrediction;
import io.kvasir.cell.worker.Member;
import io.kvasir.cell.worker.ServedRequest;
import io.kvasir.index.Chain;
import io.kvasir.routing.Booking;

/**
 * A reservation that another node had when the cell came to this home: in the ledger for its load alone. Its prompt is
 * not known here, so that nothing is predicted of it, and it teaches nothing of what prompts cost. Thread-safe.
 */
public final class AdoptedReservation implements Reservation {
  private final Member member;
  private final ServedRequest served;
  private final BookedLoad load;
  private final ReservationLifecycle lifecycle = new ReservationLifecycle();

  private AdoptedReservation(Member member, String model, BookedLoad load) {
    this.member = member;
    this.served = new ServedRequest(null, model, true, null);
    this.load = load;
  }

  /**
   * Books a load that another node has in flight already, whether there is room for it or not.
   *
   * @param booking the load now
   * @param localPrefill the load when the worker reads the prompt itself; the same where it does anyway
   */
  public static AdoptedReservation book(Member member, String model, Booking booking, Booking localPrefill) {
    member.load().add(booking);
    boolean prefills = booking.equals(localPrefill);
    BookedLoad.Answer answer = prefills ? BookedLoad.Answer.UNKNOWN : BookedLoad.Answer.UNWATCHED;
    BookedLoad load = new BookedLoad(member, booking, localPrefill, prefills, answer);
    load.begin();
    return new AdoptedReservation(member, model, load);
  }

  /** It may count on what nobody knows here. */
  @Override
  public PrefixHold prefixHold() {
    return PrefixHold.UNKNOWN;
  }

  @Override
  public void firstToken() {
    State was = lifecycle.settle();
    if (was != null) {
      load.settle(was);
      load.answerBegun();
    }
  }

  @Override
  public void progressed() {
    member.progressed();
  }

  @Override
  public void prefillLocally() {
    if (!load.prefills() && lifecycle.prefillLocally()) {
      load.prefillLocally();
    }
  }

  @Override
  public void close(Outcome outcome) {
    State was = lifecycle.close();
    if (was == null) {
      return;
    }
    if (was != State.SETTLED) {
      load.settle(was);
    }
    load.release(was);
    HitPrediction nothing = HitPrediction.none(Chain.EMPTY);
    var _ = member.requestEnded(served, outcome, load.booking().promptTokens(), nothing);
  }
}
