package io.kvasir.cell;

/** Who says that there is a pod, and so may change it or take it away. */
public enum PodSource {
  /** The configuration of a node, when it started. */
  CONFIG,
  /** The admin API. */
  ADMIN,
  /** The file that is watched. */
  FILE,
  /** Kubernetes. */
  KUBERNETES
}
