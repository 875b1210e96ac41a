package io.kvasir.cell;

/** What a node does with requests while it is cut off and the others go on without it. */
public enum PartitionPolicy {
  /** Sends them to workers of the roster it knew last, without knowing what they hold. */
  SERVE,
  /** Refuses them, so that clients try another node. */
  REFUSE
}
