package io.kvasir.cell;

import java.util.List;

/**
 * How far workers hold the beginnings of some chains, as the indexes of their cells' homes have it.
 *
 * @param depths for each chain, in their order, of every worker that holds its first block the number of its leading
 *     blocks that this one holds; in no order
 * @param missingCells cells of the model whose homes did not answer in time: their workers are not among these
 */
public record HeldPrefixes(List<List<Integer>> depths, List<String> missingCells) {
  /** The number of workers that hold this many leading blocks of a chain, 0 where nothing is known of the chain. */
  public int holders(int chain, int blocks) {
    return chain >= depths.size() ? 0 : (int) depths.get(chain).stream().filter(depth -> depth >= blocks).count();
  }
}
