package io.kvasir.index;

/**
 * A part of a handover: some of the blocks that one worker holds, on the way from one index to another.
 * {@link WorkerBlocks#handOver} makes the parts, {@link WorkerBlocks#take} adds them to the other index, in the same
 * order. Plain columns of at most some 1,000 blocks, so that making, sending and adding a part is short. Immutable.
 *
 * <p>Blocks come in <i>runs</i>: up to 16 consecutive blocks that are adjacent in the index they come from. They are
 * adjacent in the other one, too, and each run names its predecessor: so searches stay as fast, and a block whose
 * parent the worker does not hold any more gets the place in which other workers of the same index have it.
 */
public sealed interface Holdings {

  /**
   * Blocks, and the engine keys that name them.
   *
   * @param follows of each run: the first hash of the run before it, {@link BlockHash#NONE} where none is known
   * @param lengths of each run: how many blocks, 1 to 16
   * @param held of each run: bit i is set when the worker holds its block i; the other blocks only fix the places
   * @param hashes the blocks, one run after the other
   * @param keys engine keys; none when the blocks are only predicted
   * @param blocks of each key: its block, as an index into {@code hashes}; ascending
   * @param copies of each key: how many in each {@link Tier}, 8 bits each, the device's lowest
   */
  record Blocks(
      long[] follows, int[] lengths, int[] held, long[] hashes, long[] keys, int[] blocks, int[] copies)
      implements Holdings {}

  /**
   * The predicted ones among the blocks that were handed over without a key, those evicted first in front.
   *
   * @param lastNumber the number of the worker's last prediction
   * @param firsts of each block: the first hash of its run
   * @param places of each block: its place there
   * @param uses of each block: how many predictions include it
   * @param births of each block: the number of the prediction that set it
   * @param expiries of each block: when it expires
   */
  record Predicted(
      long lastNumber, long[] firsts, int[] places, int[] uses, long[] births, long[] expiries)
      implements Holdings {}
}
