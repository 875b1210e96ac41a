package io.kvasir.cell;

/** Where a pod was declared, and so may be changed or removed. */
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
