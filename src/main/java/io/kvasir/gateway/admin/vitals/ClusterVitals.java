package io.kvasir.gateway.admin.vitals;

import java.util.List;
import java.util.SequencedMap;

/** The vital figures of all nodes, as they tell them. Thread-safe; waits for the others, a fraction of a second. */
public interface ClusterVitals {
  /** The reports of the nodes that answer, about a second old at most. */
  Answers<NodeReport> reports();

  /** The samples of the last minutes of the nodes that answer, the latest first. */
  Answers<List<VitalSample>> histories();

  /**
   * What nodes answer.
   *
   * @param byNode by address, that of the node that asks first
   * @param missing the addresses of the nodes that do not answer
   */
  record Answers<A>(SequencedMap<String, A> byNode, List<String> missing) {}
}
