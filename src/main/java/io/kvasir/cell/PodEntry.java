package io.kvasir.cell;

import org.jspecify.annotations.Nullable;

/**
 * A pod as the directory replicates it.
 *
 * @param spec the operator's description
 * @param drained whether somebody drained it: it gets nothing new while it is there, whatever its source says
 * @param source who says that there is such a pod; null from a node that does not know sources yet
 * @param withheld whether its source gives it nothing new for now
 */
record PodEntry(PodSpec spec, boolean drained, @Nullable PodSource source, boolean withheld)
    implements ClusterMessage {
  PodEntry(PodSpec spec, PodSource source) {
    this(spec, false, source, false);
  }

  /** Whether it gets nothing new. */
  boolean draining() {
    return drained || withheld;
  }

  /** The pod's cell: pods that serve the same base model are one model group. */
  String cell() {
    return spec.models().iterator().next();
  }
}
