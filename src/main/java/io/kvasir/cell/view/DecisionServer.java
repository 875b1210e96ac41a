package io.kvasir.cell.view;

import io.kvasir.admission.Claim;
import io.kvasir.admission.Standing;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.PrefixHold;
import io.kvasir.cell.Reservation;
import io.kvasir.cell.ledger.CorrelationIds;
import io.kvasir.cell.ledger.LeasedReservations;
import io.kvasir.cell.ledger.OpenReservations;
import io.kvasir.telemetry.DecisionRecord;
import io.kvasir.telemetry.LineRate;
import io.kvasir.time.NanoClock;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves the requests of other nodes at the cell's home, which is a {@code RemoteCell} to them: decides, holds what is
 * booked under the ids they give it until they send its outcome, and keeps what waits until they fetch its result.
 * Thread-safe.
 */
public final class DecisionServer {
  private static final Logger LOG = LoggerFactory.getLogger(DecisionServer.class);
  private static final int FAULTS_PER_SECOND = 1;

  /** What is wrong is for the home's operator alone: this reaches clients. */
  private static final Decision.NoWorker FAILED =
      new Decision.NoWorker(
          Decision.NoWorkerReason.NO_HOME, "the decision failed on the cell's home, whose log says why");

  private final CellView view;
  private final LeasedReservations leased;
  private final CellMetrics metrics;
  private final LeasedTurns turns;
  private final Holders holders;
  private final LineRate faults;

  /** What a cell has for the node that holds a reservation. */
  public enum Notice {
    /** The request is to be taken back from its worker, unless its answer has begun. */
    PREEMPT,
    /** The node is to report, once, when it has sent the request, or that it had. */
    REPORT_SENT
  }

  /** The nodes that hold what is booked here. Thread-safe. */
  @FunctionalInterface
  public interface Holders {
    /**
     * Sends a node something about a request of it. Does not block; may be lost.
     *
     * @param reservation the node's id of it
     */
    void send(String node, String cell, long reservation, Notice notice);
  }

  DecisionServer(
      CellView view, LeasedReservations leased, CellMetrics metrics, Holders holders, NanoClock clock) {
    this.holders = holders;
    this.turns = new LeasedTurns(clock);
    this.faults = new LineRate(FAULTS_PER_SECOND, clock);
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
    turns.expire();
  }

  /** Gives back what is held or waits for a request whose reply its node does not wait for any more. */
  public void abandon(String node, long correlationId) {
    turns.abandon(node, correlationId);
    leased.abandon(node, correlationId);
  }

  /** Gives back all that is held or waits for a node that was removed. */
  public void abandonAllOf(String node) {
    turns.abandonAllOf(node);
    leased.closeAllOf(node);
  }

  /**
   * The result of a wait.
   *
   * @param correlationId the request's, as its node gave it
   * @param reply null when the request does not wait at this home, and is to be sent again
   */
  public record TurnReply(long correlationId, @Nullable DecisionReply reply) {}

  /** The results that there are of requests that wait, for the node that has them. To be called again and again. */
  public List<TurnReply> turns(String node, List<Long> correlationIds) {
    List<TurnReply> replies = new ArrayList<>();
    for (LeasedTurns.Fetched result : turns.fetch(node, correlationIds)) {
      Decision decision = result.decision();
      replies.add(new TurnReply(result.id(), decision == null ? null : reply(decision, node, result.id())));
    }
    return replies;
  }

  /**
   * How a request stands that was held for earlier ones.
   *
   * @param reservation the node's id of what is booked for it
   */
  public record HoldReply(long reservation, PrefixHold hold) {}

  /**
   * Those of a node's held requests that are to be held no longer. To be called again and again; may wait for a write
   * to the index.
   *
   * @param reservations the node's ids of what is booked for them
   */
  public List<HoldReply> holdsOver(String node, List<Long> reservations) {
    List<HoldReply> over = new ArrayList<>();
    for (long reservation : reservations) {
      PrefixHold hold = leased.prefixHold(node, reservation);
      if (hold != PrefixHold.HELD) {
        over.add(new HoldReply(reservation, hold));
      }
    }
    return over;
  }

  /**
   * Decides, or lets the request wait. A decision that fails, as by a fault of a plugin, is one without a worker: it
   * must not end the cell.
   *
   * @param node the node that will hold the reservations
   * @param correlationId its id of the request
   */
  public DecisionReply decide(DecisionRequest request, String node, long correlationId) {
    try {
      return decideOrWait(request, node, correlationId);
    } catch (RuntimeException fault) {
      return reply(failed(request, fault), node, correlationId);
    }
  }

  private Decision.NoWorker failed(DecisionRequest request, RuntimeException fault) {
    long leftOut = faults.take();
    if (leftOut >= 0) {
      LOG.warn("request {} could not be decided{}", request.requestId(), LineRate.note(leftOut), fault);
    }
    return FAILED;
  }

  /** How it would be decided now, for people. */
  public DecisionRecord explain(DecisionRequest request) {
    try {
      return view.explain(request);
    } catch (RuntimeException fault) {
      return DecisionRecorder.withoutCandidates(view.cell(), request, failed(request, fault));
    }
  }

  private DecisionReply decideOrWait(DecisionRequest request, String node, long correlationId) {
    CellAdmission admission = view.admission();
    Claim claim = request.claim();
    if (admission == null || claim == null) {
      return reply(view.decideForPeer(request), node, correlationId);
    }
    GateCheck check = admission.check(request, claim, Standing.ALONE);
    Decision now = admission.tryAtOnce(request, claim, false, check);
    if (now != null) {
      return reply(now, node, correlationId);
    }
    PendingDecision pending = admission.enter(request, claim, false, check);
    Decision atOnce = LeasedTurns.decision(pending);
    if (atOnce != null) {
      // However many are refused in a full room, nothing of them is kept.
      return reply(atOnce, node, correlationId);
    }
    turns.add(node, correlationId, pending);
    return DecisionReply.waiting(view.incarnation());
  }

  private DecisionReply reply(Decision decision, String node, long correlationId) {
    return switch (decision) {
      case Decision.Planned planned ->
          new DecisionReply(
              view.incarnation(), planned.workflow(), planned.order(), hold(planned, node, correlationId),
              planned.reason(),
              null,
              null,
              planned.waitedMillis() == 0 ? null : new DecisionReply.Turn(false, planned.waitedMillis(), null));
      case Decision.NoWorker none ->
          new DecisionReply(view.incarnation(), null, null, null, none.detail(), none.reason(), none.load(),
              none.refusal() == null ? null : new DecisionReply.Turn(false, 0, none.refusal()));
    };
  }

  private List<DecisionReply.ChosenStep> hold(Decision.Planned planned, String node, long correlationId) {
    for (int step = 0; step < planned.steps().size(); step++) {
      Reservation reservation = planned.steps().get(step).reservation();
      long id = CorrelationIds.reservation(correlationId, step);
      reservation.onPreempt(() -> holders.send(node, view.cell(), id, Notice.PREEMPT));
      reservation.onAwaited(() -> holders.send(node, view.cell(), id, Notice.REPORT_SENT));
      leased.hold(node, id, reservation);
    }
    return planned.steps().stream().map(DecisionReply.ChosenStep::of).toList();
  }
}
