package io.kvasir.index;

/** Where a worker holds a block, nearest first. */
public enum Tier {
  /** The accelerator's own memory: ready to be attended to. */
  DEVICE,
  /** The host's memory. */
  HOST,
  /** A local disk. */
  DISK,
  /** Shared or far storage. */
  REMOTE
}
