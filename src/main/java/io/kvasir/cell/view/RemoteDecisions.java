package io.kvasir.cell.view;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.ledger.CorrelationIds;
import io.kvasir.cell.ledger.LeasedReservations;
import java.util.List;

/**
 * Decisions for other nodes at a cell that is at home here: what is booked is held for them, under the names they give
 * it, until they tell how it went. Thread-safe.
 */
public final class RemoteDecisions {
  private final CellView view;
  private final LeasedReservations leased;

  RemoteDecisions(CellView view, LeasedReservations held) {
    this.view = view;
    this.leased = held;
  }

  /** What is held for other nodes. */
  public LeasedReservations leased() {
    return leased;
  }

  /**
   * Decides.
   *
   * @param node the node that will hold the reservations
   * @param ticket its number of the question
   */
  public DecisionReply decide(DecisionRequest request, String node, long ticket) {
    return switch (view.decideForPeer(request)) {
      case Decision.Planned planned ->
          new DecisionReply(
              view.incarnation(), planned.workflow(), planned.order(), hold(planned, node, ticket), planned.reason(),
              null);
      case Decision.NoWorker none ->
          new DecisionReply(view.incarnation(), null, null, null, none.detail(), none.reason());
    };
  }

  private List<DecisionReply.ChosenStep> hold(Decision.Planned planned, String node, long ticket) {
    for (int step = 0; step < planned.steps().size(); step++) {
      leased.hold(node, CorrelationIds.reservation(ticket, step), planned.steps().get(step).reservation());
    }
    return planned.steps().stream().map(RemoteDecisions::decided).toList();
  }

  private static DecisionReply.ChosenStep decided(Decision.Chosen chosen) {
    return new DecisionReply.ChosenStep(
        chosen.step(),
        chosen.depth(),
        chosen.predictedCachedTokens(),
        chosen.confirmedCachedTokens(),
        chosen.suspect());
  }
}
