package io.kvasir.index;

/** The tier of memory in which a worker holds a block, nearest first. */
public enum Tier {
  /** The accelerator's own memory: ready for attention. */
  DEVICE(0),
  /** The host's memory. */
  HOST(1),
  /** A local disk. */
  DISK(2),
  /** Shared or far storage. */
  REMOTE(3);

  private final int index;

  Tier(int index) {
    this.index = index;
  }

  /** The tier's place in arrays that have one entry per tier, 0 to 3, nearest first. */
  public int index() {
    return index;
  }
}
