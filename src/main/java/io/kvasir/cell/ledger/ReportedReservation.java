package io.kvasir.cell.ledger;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.Reservation;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntConsumer;

/** A reservation whose end is reported to those who keep accounts of requests. Thread-safe. */
public final class ReportedReservation implements Reservation {
  private final Reservation reservation;
  private final IntConsumer ended;
  private final AtomicBoolean closed = new AtomicBoolean();

  private ReportedReservation(Reservation reservation, IntConsumer ended) {
    this.reservation = reservation;
    this.ended = ended;
  }

  /**
   * The same plan, the end of its last step to be reported.
   *
   * @param ended gets the generated tokens, 0 where they are not known, once
   */
  public static Decision.Planned ofLast(Decision.Planned planned, IntConsumer ended) {
    Decision.Chosen last = planned.last();
    return planned.with(
        planned.steps().stream()
            .map(
                chosen ->
                    chosen.equals(last) ? chosen.with(new ReportedReservation(chosen.reservation(), ended)) : chosen)
            .toList(),
        planned.reason());
  }

  @Override
  public void awaitEarlier() {
    reservation.awaitEarlier();
  }

  @Override
  public void sent() {
    reservation.sent();
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
