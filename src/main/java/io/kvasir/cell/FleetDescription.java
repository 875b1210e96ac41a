package io.kvasir.cell;

import io.kvasir.index.Chain;
import io.kvasir.telemetry.Problem;
import java.util.List;

/**
 * What is to be seen of the fleet, for administration: the path of a request uses {@link Cells} alone. Where it is told
 * below, a message goes to the home of every cell on another node, and all are waited for, each up to the decision
 * timeout; a home that does not answer leaves its part out. Thread-safe.
 */
public interface FleetDescription {
  /** Every worker of every cell, as its cell's home describes it. Waits for homes. */
  List<WorkerStatus> workers();

  /** Nodes, cells with their homes, and workers. Waits for homes. */
  ClusterStatus cluster();

  /** How far the workers of a model hold the beginnings of chains, as the index has it now. Waits for homes. */
  HeldPrefixes heldPrefixes(String model, List<Chain> chains);

  /**
   * The last changes of the health of a pod's workers, newest first, as their cell's home has seen them; empty when
   * that does not answer in time. Waits for the home.
   */
  List<HealthChange> healthChanges(String pod);

  /** The last changes of the health of workers whose cells are at home on this node, newest first. Never waits. */
  List<HealthChange> healthChanges();

  /**
   * The workers of cells whose home is this node that answer, but not as they should. From this node's memory: never
   * waits. Bounded.
   */
  List<Problem> problems();

  /** The last moves of cells, all that this node has seen, newest first. Never waits. */
  List<CellMove> moves();
}
