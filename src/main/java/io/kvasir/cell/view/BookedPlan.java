package io.kvasir.cell.view;

import io.kvasir.cell.CachedTokens;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Reservation;
import io.kvasir.cell.ledger.BookedReservation;
import io.kvasir.cell.ledger.LocalReservations;
import io.kvasir.cell.ledger.PullingReservation;
import io.kvasir.cell.worker.HitPrediction;
import io.kvasir.cell.worker.Member;
import io.kvasir.cell.worker.WorkerHealth;
import io.kvasir.index.SeenPrefixes;
import io.kvasir.routing.KvPull;
import io.kvasir.routing.PlanResult;
import io.kvasir.routing.PromptSize;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingPlan;
import io.kvasir.routing.Selection;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A plan whose load is booked, on its way to a decision: each of its workers is reserved, and predicted to hold the
 * prompt. Used by one thread.
 */
final class BookedPlan {
  private final PlanResult.PlanFound found;
  private final CellFleet fleet;
  private final DecisionRequest request;
  private final List<BookedReservation> reservations;

  /** A plan that has been made for the fleet; nothing is reserved yet. */
  BookedPlan(PlanResult.PlanFound found, CellFleet fleet, DecisionRequest request) {
    this.found = found;
    this.fleet = fleet;
    this.request = request;
    this.reservations = new ArrayList<>(found.chosen().size());
  }

  /**
   * Takes over what is booked, and predicts what it leads to.
   *
   * @param local whether it is a request of this node
   */
  void reserve(boolean local, LocalReservations localReservations, SeenPrefixes seenPrefixes) {
    for (int i = 0; i < found.chosen().size(); i++) {
      Selection.Chosen chosen = found.chosen().get(i);
      BookedReservation reservation =
          new BookedReservation(
              fleet.member(chosen.slot()), chosen, request, prefiller(i), localReservations, seenPrefixes);
      if (local) {
        localReservations.add(reservation);
      }
      if (i > 0 && found.plan().order() == RoutingPlan.StepOrder.SEQUENTIAL) {
        // When it will be sent is not known here.
        reservation.sent();
      }
      fleet.predicted(reservation.hitPrediction(), chosen.chain(), chosen.slot());
      reservations.add(reservation);
    }
  }

  /** Health of the worker whose KV blocks a step's worker is to receive; null where it computes the prompt. */
  private @Nullable WorkerHealth prefiller(int step) {
    Selection.Chosen before = step == 0 || found.chosen().get(step).readsPrompt() ? null : found.chosen().get(step - 1);
    return before != null && before.role() == Role.PREFILL ? fleet.member(before.slot()).health() : null;
  }

  /** Whether a worker turned out to hold more or less of the prompt than it was chosen for. */
  boolean isOutdated() {
    for (int i = 0; i < reservations.size(); i++) {
      Selection.Chosen chosen = found.chosen().get(i);
      if (fleet.isOutdated(reservations.get(i).hitPrediction(), chosen.chain(), chosen.slot())) {
        return true;
      }
    }
    return false;
  }

  /** Takes all of it back. */
  void withdraw() {
    reservations.forEach(BookedReservation::withdraw);
  }

  /**
   * The decision for it.
   *
   * @param everCached tokens of the prompt that the cell has seen before
   */
  Decision.Planned decision(int everCached, Decision.Origin origin) {
    List<Decision.Chosen> steps = new ArrayList<>(reservations.size());
    int predictedBlocks = 0;
    for (int i = 0; i < reservations.size(); i++) {
      Selection.Chosen chosen = found.chosen().get(i);
      HitPrediction prediction = reservations.get(i).hitPrediction();
      predictedBlocks += chosen.readsPrompt() ? chosen.depth() - prediction.confirmed() : 0;
      steps.add(
          new Decision.Chosen(
              found.plan().steps().get(i),
              pulling(reservations.get(i), chosen),
              chosen.depth(),
              new CachedTokens(
                  chosen.predictedCachedTokens(),
                  Math.min(
                      chosen.predictedCachedTokens(), prediction.confirmedTokens(chosen.booking().promptTokens())),
                  chosen.bestCachedTokens(),
                  everCached),
              fleet.member(chosen.slot()).cache().events().suspect()));
    }
    return new Decision.Planned(
        found.plan().workflow(),
        found.plan().order(),
        steps,
        predictedBlocks == 0 ? found.reason() : found.reason() + "; predicted=" + predictedBlocks,
        origin,
        0);
  }

  private Reservation pulling(BookedReservation reservation, Selection.Chosen chosen) {
    KvPull pull = chosen.pull();
    Member source = pull == null ? null : fleet.member(pull.worker());
    if (pull == null || source == null) {
      return reservation;
    }
    int held = new PromptSize(chosen.booking().promptTokens(), chosen.chain().blockSize()).cached(chosen.depth());
    return new PullingReservation(reservation, fleet.member(chosen.slot()), source, held, pull.tokens() - held);
  }
}
