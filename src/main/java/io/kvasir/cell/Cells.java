package io.kvasir.cell;

import java.util.List;
import java.util.Set;

/**
 * A node's way to every cell: decides inline where the cell is at home here, asks its home otherwise.
 * Thread-safe; {@link #decide} may wait for another node (bounded by the decision timeout), so it is
 * called on virtual threads.
 */
public interface Cells {
  /** Chooses workers and books their load, in one step. Never throws for want of a worker. */
  Decision decide(DecisionRequest request);

  /** Every worker of every cell with its state, as this node knows it. */
  List<WorkerStatus> workers();

  /** Every name requests may call a model by, wherever its workers are. */
  Set<String> models();

  /**
   * Adds a pod's workers (one per rank).
   *
   * @throws IllegalArgumentException when the pod's name is taken or the cells are full; the message says
   *     which and what to do
   */
  void add(PodSpec pod);

  /** Lets a pod finish what it has and gives it nothing new; false when there is no such pod. */
  boolean drain(String pod);

  /** Removes a pod's workers at once; false when there is no such pod. */
  boolean remove(String pod);
}
