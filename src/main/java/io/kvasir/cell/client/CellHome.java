package io.kvasir.cell.client;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.ledger.CorrelationIds;
import io.kvasir.cell.view.DecisionReply;
import io.kvasir.cell.view.DecisionServer.HoldReply;
import io.kvasir.cell.view.DecisionServer.TurnReply;
import io.kvasir.telemetry.DecisionRecord;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A cell's home on another node, whichever that is at the time. Thread-safe. */
interface CellHome extends HomeNotifier {
  /** What came of a request for a decision. */
  sealed interface QueryResult {
    /**
     * The home has replied.
     *
     * @param correlationId the id of the request under which it holds the reservations
     * @param way how it was reached
     */
    record Replied(DecisionReply reply, long correlationId, Decision.Way way) implements QueryResult {}

    /** The home has not replied in time. What it books by then or later is given back. */
    record Late() implements QueryResult {}

    /**
     * The request could not be sent.
     *
     * @param reason in plain words
     */
    record Unsent(String reason) implements QueryResult {}
  }

  /** The cell's name. */
  String cell();

  /**
   * Has the home decide.
   *
   * @param correlationId an open request's first id
   * @param ids those of the cell's requests
   */
  QueryResult query(DecisionRequest request, long correlationId, CorrelationIds ids);

  /**
   * Fetches the results of requests that wait at the home; fails when it does not answer in time.
   *
   * @param correlationIds under which they wait
   */
  CompletableFuture<List<TurnReply>> turns(List<Long> correlationIds);

  /**
   * Fetches those of the requests held here that are to be held no longer; fails when the home does not answer in time.
   *
   * @param reservations this node's ids of what is booked for them
   */
  CompletableFuture<List<HoldReply>> holds(List<Long> reservations);

  /** Gives a request up: what waits or is booked for it is given back. */
  void abandon(long correlationId);

  /** Has the home explain how it would decide; the record says so when it does not answer. */
  DecisionRecord explain(DecisionRequest request);
}
