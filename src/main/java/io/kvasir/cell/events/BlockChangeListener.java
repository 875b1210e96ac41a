package io.kvasir.cell.events;

import io.kvasir.index.Tier;
import org.jspecify.annotations.Nullable;

/** Told what a worker's events change in its blocks, in order, as {@link io.kvasir.index.WorkerBlocks} was told. */
public interface BlockChangeListener {
  /** Nobody is told. */
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
    public void removed(long[] keys, Tier tier, boolean counted) {}

    @Override
    public void cleared() {}
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

  /** A copy of each of these was taken away, where there was one. */
  void removed(long[] keys, Tier tier, boolean counted);

  /** Everything was taken away. */
  void cleared();
}
