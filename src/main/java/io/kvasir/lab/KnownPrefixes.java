package io.kvasir.lab;

import java.util.ArrayList;
import java.util.List;
import org.agrona.collections.Long2LongHashMap;

/**
 * The prefixes of all chains seen so far: a radix tree. An edge is a part of a chain up to the next place where another
 * one parts from it, and is found by the hash of its first block, since a hash stands for everything before it. So of a
 * chain that shares nothing with others only one block is looked up, however long it is. One thread.
 */
final class KnownPrefixes {
  private static final long NONE = -1;

  private final List<BlockHashes> chains = new ArrayList<>();

  /** By an edge's first hash: which of {@link #chains} has it, in the upper half, and where it ends. */
  private final Long2LongHashMap edges = new Long2LongHashMap(NONE);

  /**
   * Adds the first {@code length} blocks of a chain.
   *
   * @return how many of them, from the first, were known
   */
  int add(BlockHashes chain, int length) {
    int depth = 0;
    while (depth < length) {
      long edge = edges.get(chain.hash(depth));
      if (edge == NONE) {
        break;
      }
      BlockHashes other = chains.get((int) (edge >>> Integer.SIZE));
      int end = (int) edge;
      int parted = partedAt(chain, other, depth, Math.min(end, length));
      if (parted == depth) {
        break; // a faulty trace, which has one hash at two depths
      }
      if (parted < end && parted < length) {
        edges.put(chain.hash(depth), edge - end + parted);
        edges.put(other.hash(parted), edge);
        depth = parted;
        break;
      }
      depth = parted;
    }
    if (depth < length) {
      edges.put(chain.hash(depth), (long) chains.size() << Integer.SIZE | length);
      chains.add(chain);
    }
    return depth;
  }

  /** The first block from {@code from} on where two chains differ, {@code to} when there is none. */
  private static int partedAt(BlockHashes chain, BlockHashes other, int from, int to) {
    int parted = from;
    while (parted < to && chain.hash(parted) == other.hash(parted)) {
      parted++;
    }
    return parted;
  }
}
