package io.kvasir.cell.ledger;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.Reservation;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntConsumer;

/** The reservation of a program's turn, which ends with it. Thread-safe. */
public final class TurnReservation implements Reservation {
  private final Reservation reservation;
  private final IntConsumer ended;
  private final AtomicBoolean closed = new AtomicBoolean();

  private TurnReservation(Reservation reservation, IntConsumer ended) {
    this.reservation = reservation;
    this.ended = ended;
  }

  /**
   * The same step, its end to be noted.
   *
   * @param ended gets the generated tokens, 0 where they are not known, once
   */
  public static Decision.Chosen of(Decision.Chosen chosen, IntConsumer ended) {
    return new Decision.Chosen(
        chosen.step(),
        new TurnReservation(chosen.reservation(), ended),
        chosen.depth(),
        chosen.cached(),
        chosen.suspect());
  }

  @Override
  public void firstToken() {
    reservation.firstToken();
  }

  @Override
  public void prefillLocally() {
    reservation.prefillLocally();
  }

  @Override
  public void progressed() {
    reservation.progressed();
  }

  @Override
  public void close(Outcome outcome) {
    reservation.close(outcome);
    if (closed.compareAndSet(false, true)) {
      ended.accept(outcome instanceof Outcome.Completed completed ? Math.max(0, completed.outputTokens()) : 0);
    }
  }
}
