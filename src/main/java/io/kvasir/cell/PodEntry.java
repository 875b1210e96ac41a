package io.kvasir.cell;

/**
 * A pod as the directory replicates it.
 *
 * @param spec the operator's description
 * @param draining whether it gets nothing new
 */
record PodEntry(PodSpec spec, boolean draining) implements ClusterMessage {
  /** The pod's cell: pods that serve the same base model are one model group. */
  String cell() {
    return spec.models().iterator().next();
  }
}
