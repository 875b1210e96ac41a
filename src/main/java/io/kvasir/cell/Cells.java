package io.kvasir.cell;

import io.kvasir.http.Cancellation;
import io.kvasir.index.Chain;
import io.kvasir.telemetry.DecisionRecord;
import io.kvasir.telemetry.Problem;
import java.util.List;
import java.util.Set;

/**
 * A node's client of every cell: decides inline where this node is the cell's home, has its home decide otherwise.
 * Thread-safe; {@link #decide} may wait for another node (bounded by the decision timeout), so it is called on virtual
 * threads.
 */
public interface Cells {
  /** The result of taking a drain back. */
  enum UndrainResult {
    /** The pod gets requests again. */
    DONE,
    /** Its source withholds it: it was not drained, and goes on to get nothing new. */
    WITHHELD,
    /** There is no such pod. */
    UNKNOWN
  }

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

  /**
   * Every worker of every cell, as its cell's home describes it. Sends a message to every home on another node and
   * waits for all of them, each up to the decision timeout; a home that does not answer leaves its workers out. For
   * administration: the path of a request uses {@link #workers}.
   */
  List<WorkerStatus> describeWorkers();

  /**
   * The workers of cells whose home is this node that answer, but not as they should. From this node's memory: never
   * waits. Bounded.
   */
  List<Problem> problems();

  /** The last changes of the health of workers whose cells are at home on this node, newest first. Never waits. */
  List<HealthChange> healthChanges();

  /**
   * The last changes of the health of a pod's workers, newest first, as their cell's home has seen them; empty when
   * that does not answer in time. Waits like {@link #describeWorkers}.
   */
  List<HealthChange> healthChanges(String pod);

  /** The last moves of cells, all that this node has seen, newest first. Never waits. */
  List<CellMove> moves();

  /**
   * How far the workers of a model hold the beginnings of chains, as the index has it now. Asks the homes of the
   * model's cells on other nodes, and waits like {@link #describeWorkers}.
   */
  HeldPrefixes heldPrefixes(String model, List<Chain> chains);

  /** Nodes, cells with their homes, and workers; waits like {@link #describeWorkers}. */
  ClusterStatus describeCluster();

  /** Every worker of the roster, from this node's memory: never waits. */
  List<WorkerSummary> workers();

  /** The workers of the roster that serve a model, from this node's memory: never waits. */
  List<WorkerSummary> workers(String model);

  /**
   * The ids of all workers of the roster. Unmodifiable; from this node's memory, and not copied: the very set of before
   * unless a pod has come, gone or changed.
   */
  Set<String> workerIds();

  /** Every name requests may call a model by, wherever its workers are; also of those that may have none. */
  Set<String> models();

  /** The pods of the roster, from this node's memory: never waits. */
  List<PodSpec> pods();

  /** Those of a source. */
  List<PodSpec> pods(PodSource source);

  /**
   * Adds a pod's workers (one per rank).
   *
   * @throws IllegalArgumentException when the pod's name is taken or the cells are full; the message has the
   *     reason and the remedy
   */
  void add(PodSpec pod);

  /**
   * Makes the pods of a source exactly these: new ones are added, changed ones replaced and missing ones removed
   * (requests in flight end as they would). Idempotent. A pod that the admin API drained stays drained.
   *
   * @return what was refused, in plain words, such as a name that a pod of another source has; empty if nothing was
   */
  List<String> declare(PodSource source, List<DiscoveredPod> pods);

  /** Adds a pod of this node's configuration, unless one of its name is known. Does not wait. */
  void announce(PodSpec pod);

  /**
   * Puts another description of a pod in the place of one that turned out to be out of date. Workers whose engine is
   * another than it was begin with an empty index.
   *
   * @return whether that was still the pod's description
   */
  boolean replace(PodSpec before, PodSpec after);

  /** Lets a pod finish what it has and gives it nothing new; false when there is no such pod. */
  boolean drain(String pod);

  /** Gives a pod requests again that was {@linkplain #drain drained}. */
  UndrainResult undrain(String pod);

  /** Removes a pod's workers at once; false when there is no such pod. */
  boolean remove(String pod);
}
