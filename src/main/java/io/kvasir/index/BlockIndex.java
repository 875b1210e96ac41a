package io.kvasir.index;

/** Who holds which block, for the workers of one cell. */
public final class BlockIndex {
  private final int slots;

  /**
   * Makes an empty index.
   *
   * @param slots 64, 128 or 256
   * @param budgetBytes the most memory rows and maps may take
   */
  public BlockIndex(int slots, long budgetBytes) {
    this.slots = slots;
  }

  /** How many workers the index can tell apart. */
  public int slots() {
    return slots;
  }

  /** Gives a free slot to a new worker, alive and empty. */
  public WorkerBlocks open(int slot) {
    throw new UnsupportedOperationException();
  }

  /** Takes a worker out of every search at once. Its slot stays taken until {@link #sweep}. */
  public void retire(int slot) {
    throw new UnsupportedOperationException();
  }

  /** Clears everything a retired worker held and frees its slot. Takes time; safe beside reads and other writers. */
  public void sweep(int slot) {
    throw new UnsupportedOperationException();
  }

  /**
   * Writes the depth of every candidate into {@code depths[slot]} (0 where it holds nothing) and
   * returns the greatest. Wait-free, allocates nothing.
   *
   * @param candidates a bitmap of slots, {@code slots / 64} longs
   */
  public int search(Chain chain, long[] candidates, int[] depths) {
    throw new UnsupportedOperationException();
  }

  /** The oracle of {@link #search}: looks every block up, one by one. */
  public int linear(Chain chain, long[] candidates, int[] depths) {
    throw new UnsupportedOperationException();
  }

  /** How many leading blocks of the chain the worker holds, proven one by one. */
  public int verify(Chain chain, int slot) {
    throw new UnsupportedOperationException();
  }

  /** Distinct blocks held by some worker. */
  public long rows() {
    throw new UnsupportedOperationException();
  }

  /** Bytes taken by rows, tables and workers' maps. */
  public long bytes() {
    throw new UnsupportedOperationException();
  }
}
