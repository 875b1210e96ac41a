package io.kvasir.index;

/** The one writer's handle on what one worker holds: engine keys to rows. One thread at a time. */
public final class WorkerBlocks {
  WorkerBlocks() {}

  /** The chain hash of the block the engine calls {@code key}, {@link BlockHash#NONE} if it is not held. */
  public long hashOf(long key) {
    throw new UnsupportedOperationException();
  }

  /**
   * Registers {@code count} blocks that follow one another, the first of them after {@code parentKey}.
   *
   * @param root whether the first block has no parent; {@code parentKey} is then not looked at
   * @param keys the engine's keys
   * @param hashes their chain hashes
   * @param counted whether each call adds a copy that its own removal takes away (a sequenced stream),
   *     or the block is simply there (set semantics)
   * @return how many could be registered: less than {@code count} only when the memory budget is reached
   * @throws IllegalStateException when the parent is not held
   */
  public int store(
      long parentKey, boolean root, long[] keys, long[] hashes, int count, Tier tier, boolean counted) {
    throw new UnsupportedOperationException();
  }

  /** Takes away one copy of a block in a tier. Unknown keys are ignored. Returns whether it was the last there. */
  public boolean remove(long key, Tier tier, boolean counted) {
    throw new UnsupportedOperationException();
  }

  /** Takes away everything the worker holds in a tier. */
  public void clear(Tier tier) {
    throw new UnsupportedOperationException();
  }

  /** Takes away everything the worker holds. */
  public void clear() {
    throw new UnsupportedOperationException();
  }

  /** Blocks held, in whatever tier. */
  public int size() {
    throw new UnsupportedOperationException();
  }
}
