package io.kvasir.cell.view;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.ledger.HeldReservations;
import io.kvasir.cell.ledger.Tickets;
import java.util.List;

/**
 * Decisions for other nodes at a cell that is at home here: what is booked is held for them, under the names they give
 * it, until they tell how it went. Thread-safe.
 */
public final class DecisionsForOthers {
  private final CellView view;
  private final HeldReservations held;

  DecisionsForOthers(CellView view, HeldReservations held) {
    this.view = view;
    this.held = held;
  }

  /** What is held for other nodes. */
  public HeldReservations held() {
    return held;
  }

  /**
   * Decides.
   *
   * @param node the node that will hold the reservations
   * @param ticket its number of the question
   */
  public Decided decide(DecisionRequest request, String node, long ticket) {
    return switch (view.decideForOther(request)) {
      case Decision.Planned planned ->
          new Decided(
              view.incarnation(), planned.workflow(), planned.order(), hold(planned, node, ticket), planned.reason(),
              null);
      case Decision.NoWorker none ->
          new Decided(view.incarnation(), null, null, null, none.detail(), none.why());
    };
  }

  private List<Decided.Step> hold(Decision.Planned planned, String node, long ticket) {
    for (int step = 0; step < planned.steps().size(); step++) {
      held.hold(node, Tickets.reservation(ticket, step), planned.steps().get(step).reservation());
    }
    return planned.steps().stream().map(DecisionsForOthers::decided).toList();
  }

  private static Decided.Step decided(Decision.Chosen chosen) {
    return new Decided.Step(
        chosen.step(),
        chosen.depth(),
        chosen.predictedCachedTokens(),
        chosen.confirmedCachedTokens(),
        chosen.suspect());
  }
}
