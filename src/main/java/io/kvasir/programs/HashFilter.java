package io.kvasir.programs;

/**
 * Counts hashes by some of their bits, to know of most that are not in a set that they are not, without looking there:
 * a Bloom filter that forgets, with one hash function (Fan et al., "Summary Cache", 1998). Hashes are well distributed.
 * Not thread-safe.
 */
final class HashFilter {
  /** Counters for each hash: one in so many that are not in the set is taken for one that may be. */
  private static final int COUNTERS = 16;

  /** A counter that has come so far stays there. */
  private static final int FULL = 127;

  private final byte[] counts;

  /** Without hashes, for so many at most. */
  HashFilter(int hashes) {
    this.counts = new byte[Integer.highestOneBit(Math.max(1, 2 * hashes - 1)) * COUNTERS];
  }

  /** Whether it has room for so many. */
  boolean isFor(int hashes) {
    return hashes * COUNTERS <= counts.length;
  }

  boolean mayContain(long hash) {
    return counts[at(hash)] > 0;
  }

  void add(long hash) {
    int at = at(hash);
    if (counts[at] < FULL) {
      counts[at]++;
    }
  }

  /** Removes a hash that was added. */
  void remove(long hash) {
    int at = at(hash);
    if (counts[at] < FULL) {
      counts[at]--;
    }
  }

  private int at(long hash) {
    return (int) hash & (counts.length - 1);
  }
}
