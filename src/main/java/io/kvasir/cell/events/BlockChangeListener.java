package io.kvasir.cell.events;

import io.kvasir.index.Tier;
import org.jspecify.annotations.Nullable;

/**
 * Receives the changes of a worker's blocks, in the order in which {@link io.kvasir.index.WorkerBlocks} did, and those
 * of a hybrid model's groups in theirs.
 */
public interface BlockChangeListener {
  /** A listener that does nothing. */
  BlockChangeListener NONE = new BlockChangeListener() {
    @Override
    public void stored(
        long parentKey,
        boolean root,
        long[] keys,
        long[] hashes,
        int count,
        Tier tier,
        boolean counted,
        @Nullable String salt) {}

    @Override
    public void copied(long[] keys, Tier tier, boolean counted) {}

    @Override
    public void removed(long[] keys, Tier tier, boolean counted) {}

    @Override
    public void cleared() {}

    @Override
    public void ofGroups(GroupChange change) {}
  };

  /**
   * Blocks were registered.
   *
   * @param count of the first keys and hashes; the arrays are the caller's again afterwards
   * @param salt the cache salt their chain is under, null for none
   */
  void stored(
      long parentKey,
      boolean root,
      long[] keys,
      long[] hashes,
      int count,
      Tier tier,
      boolean counted,
      @Nullable String salt);

  /** A copy of each of these that names a block was added. */
  void copied(long[] keys, Tier tier, boolean counted);

  /** A copy of each of these was removed, where there was one. */
  void removed(long[] keys, Tier tier, boolean counted);

  /** Everything was removed. */
  void cleared();

  /** A hybrid model's groups beside the prefix changed. */
  void ofGroups(GroupChange change);
}
