package io.kvasir.cell;

import io.kvasir.cell.LearntEngines.LearntEngine;
import io.kvasir.http.Cancellation;
import io.kvasir.telemetry.DecisionRecord;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A node's client of every cell, for requests: decides inline where this node is the cell's home, has its home decide
 * otherwise. Thread-safe; {@link #decide} may wait for another node (bounded by the decision timeout), so it is called
 * on virtual threads.
 */
public interface Cells {
  /** Chooses workers and books their load, in one step. Does not throw when there is no worker. */
  Decision decide(DecisionRequest request);

  /**
   * The same when it is the request's turn: a request with a claim waits while the workers are full, for as long as its
   * class may. Called on virtual threads. Does not throw when there is no worker.
   *
   * @param client ends the wait when it is cancelled; the decision is none then, and of no use
   */
  default Decision decideInTurn(DecisionRequest request, Cancellation client) {
    return decide(request);
  }

  /**
   * The requests of this node that no cell has: refusals for lack of capacity since the last call, and who waits for
   * the first worker of a model. One caller at a time.
   */
  default UnservedDemand takeUnserved() {
    return UnservedDemand.NONE;
  }

  /** Explains how a decision would come about. Books nothing; does not throw when there is no worker. */
  DecisionRecord explain(DecisionRequest request);

  /** Every worker of the roster, from this node's memory: never waits. */
  List<WorkerSummary> workers();

  /** The health of a worker, from this node's memory: null for one that is not in the roster. Never waits. */
  default WorkerStatus.@Nullable Health health(String worker) {
    for (WorkerSummary known : workers()) {
      if (known.id().equals(worker)) {
        return known.health();
      }
    }
    return null;
  }

  /** The workers of the roster that serve a model, from this node's memory: never waits. */
  List<WorkerSummary> workers(String model);

  /**
   * The ids of all workers of the roster. Unmodifiable; from this node's memory, and not copied: the very set of before
   * unless a pod has come, gone or changed.
   */
  Set<String> workerIds();

  /** What is known of a pod's engine, from this node's memory: never waits. */
  default LearntEngine learntEngine(String pod) {
    return LearntEngine.UNKNOWN;
  }

  /** Every name requests may call a model by, wherever its workers are; also of those that may have none. */
  Set<String> models();
}
