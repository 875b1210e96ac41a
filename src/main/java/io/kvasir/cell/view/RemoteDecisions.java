package io.kvasir.cell.view;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.ledger.CorrelationIds;
import io.kvasir.cell.ledger.LeasedReservations;
import io.kvasir.cell.ledger.OpenReservations;
import java.util.List;

/**
 * Decides for other nodes at the cell's home: what is booked is held for them, under the ids they give it, until they
 * send its outcome. Thread-safe.
 */
public final class RemoteDecisions {
  private final CellView view;
  private final LeasedReservations leased;
  private final CellMetrics metrics;

  RemoteDecisions(CellView view, LeasedReservations leased, CellMetrics metrics) {
    this.view = view;
    this.leased = leased;
    this.metrics = metrics;
  }

  /** The reservations held for other nodes. */
  public LeasedReservations leased() {
    return leased;
  }

  /** Gives back what is held for a node beyond the reservations it declares, and renews the leases of those. */
  public void reconcile(String node, OpenReservations declared) {
    metrics.reclaimed("declaration", leased.reconcile(node, declared));
  }

  /** Gives back what no node has declared for as long as a lease. */
  public void expire() {
    metrics.reclaimed("lease", leased.expire());
  }

  /**
   * Decides.
   *
   * @param node the node that will hold the reservations
   * @param correlationId its id of the request
   */
  public DecisionReply decide(DecisionRequest request, String node, long correlationId) {
    return switch (view.decideForPeer(request)) {
      case Decision.Planned planned ->
          new DecisionReply(
              view.incarnation(), planned.workflow(), planned.order(), hold(planned, node, correlationId),
              planned.reason(),
              null,
              null);
      case Decision.NoWorker none ->
          new DecisionReply(view.incarnation(), null, null, null, none.detail(), none.reason(), none.load());
    };
  }

  private List<DecisionReply.ChosenStep> hold(Decision.Planned planned, String node, long correlationId) {
    for (int step = 0; step < planned.steps().size(); step++) {
      leased.hold(node, CorrelationIds.reservation(correlationId, step), planned.steps().get(step).reservation());
    }
    return planned.steps().stream().map(DecisionReply.ChosenStep::of).toList();
  }
}
