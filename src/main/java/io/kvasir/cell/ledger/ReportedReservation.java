package io.kvasir.cell.ledger;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.Reservation;
import java.util.function.IntConsumer;

/** A reservation whose end is reported to those who keep accounts of requests. Thread-safe. */
public final class ReportedReservation extends WatchedReservation {
  private final IntConsumer report;

  private ReportedReservation(Reservation reservation, IntConsumer report) {
    super(reservation);
    this.report = report;
  }

  /**
   * The same plan, the end of its last step to be reported.
   *
   * @param report gets the generated tokens, 0 where they are not known, once
   */
  public static Decision.Planned ofLast(Decision.Planned planned, IntConsumer report) {
    Decision.Chosen last = planned.last();
    return planned.with(
        planned.steps().stream()
            .map(
                chosen ->
                    chosen.equals(last) ? chosen.with(new ReportedReservation(chosen.reservation(), report)) : chosen)
            .toList(),
        planned.reason());
  }

  @Override
  void ended(Outcome outcome) {
    report.accept(outcome instanceof Outcome.Completed completed ? Math.max(0, completed.outputTokens()) : 0);
  }
}
