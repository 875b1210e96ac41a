package io.kvasir.index;

/**
 * A part of what one worker holds, on its way from one index to another: {@link WorkerBlocks#handOver} makes
 * them, {@link WorkerBlocks#take} puts them into the other index, in the same order. Plain columns and never more
 * than some 1,000 blocks, so that a part can be made, sent and taken in one short turn. Not changed once made.
 *
 * <p>Blocks are told in <i>runs</i>: up to 16 that follow one another and stand together in the index they come
 * from. They stand together in the other one, too, and each run knows the one it goes on from: so what is
 * fast to search stays so, and a block whose parent the worker does not hold any more finds the place in
 * which other workers of the same index have it.
 */
public sealed interface Holdings {

  /**
   * Blocks, and the engine keys that name them.
   *
   * @param follows of each run: the first hash of the run before it, {@link BlockHash#NONE} where none is known
   * @param lengths of each run: how many blocks, 1 to 16
   * @param held of each run: bit i is set when the worker holds its block i; the others are there to tell the place
   * @param hashes the blocks, one run after the other
   * @param keys engine keys; none when the blocks are only predicted
   * @param blocks of each key: its block, as an index into {@code hashes}; ascending
   * @param copies of each key: how many in each {@link Tier}, 8 bits each, the device's lowest
   */
  record Blocks(
      long[] follows, int[] lengths, int[] held, long[] hashes, long[] keys, int[] blocks, int[] copies)
      implements Holdings {}

  /**
   * Which of the blocks that have been handed over without a key were predicted, those that give way first in front.
   *
   * @param lastNumber of the worker's predictions
   * @param firsts of each block: the first hash of its run
   * @param places of each block: its place there
   * @param uses of each block: how many predictions rely on it
   * @param births of each block: the number of the prediction that set it
   * @param expiries of each block: when its time is over
   */
  record Predicted(
      long lastNumber, long[] firsts, int[] places, int[] uses, long[] births, long[] expiries)
      implements Holdings {}
}
