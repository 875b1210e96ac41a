package io.kvasir.cell.ledger;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.Reservation;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntConsumer;

/** The reservation of a request that pays for the tokens it generates, at its end. Thread-safe. */
public final class ChargedReservation implements Reservation {
  private final Reservation reservation;
  private final IntConsumer generated;
  private final AtomicBoolean closed = new AtomicBoolean();

  private ChargedReservation(Reservation reservation, IntConsumer generated) {
    this.reservation = reservation;
    this.generated = generated;
  }

  /**
   * The same step, its generated tokens to be charged.
   *
   * @param generated gets the tokens, once, if the engine has reported them
   */
  public static Decision.Chosen of(Decision.Chosen chosen, IntConsumer generated) {
    return new Decision.Chosen(
        chosen.step(),
        new ChargedReservation(chosen.reservation(), generated),
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
    if (closed.compareAndSet(false, true)
        && outcome instanceof Outcome.Completed completed
        && completed.outputTokens() > 0) {
      generated.accept(completed.outputTokens());
    }
  }
}
