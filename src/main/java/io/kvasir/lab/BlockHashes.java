package io.kvasir.lab;

import java.util.Arrays;

/** The hashes of a text's full blocks, in their order. Immutable. */
sealed interface BlockHashes {
  /** How many there are. */
  int length();

  /** The hash of a block, 0 to {@link #length()} − 1: never 0. */
  long hash(int block);

  /** The first so many of them; not to be changed. */
  long[] first(int blocks);

  /** Those that are given, which must not change any more. */
  static BlockHashes of(long... hashes) {
    return new Listed(hashes);
  }

  /** The hash of a block that a trace names by a number: unique, never 0. */
  static long hashOf(long id) {
    long z = id + 1;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  /** Hashes as they are. */
  final class Listed implements BlockHashes {
    private final long[] hashes;

    private Listed(long[] hashes) {
      this.hashes = hashes;
    }

    @Override
    public int length() {
      return hashes.length;
    }

    @Override
    public long hash(int block) {
      return hashes[block];
    }

    @Override
    public long[] first(int blocks) {
      return blocks == hashes.length ? hashes : Arrays.copyOf(hashes, blocks);
    }
  }

  /**
   * Hashes of a text that begins as those of its group do and goes on by itself. They are computed whenever they are
   * needed: that takes less time than to wait for memory, of which those of a day's texts would take gigabytes.
   *
   * @param length how many blocks it has, up to 2²⁴
   * @param common how many of them, from the first, are the group's
   * @param group what the group's blocks are numbered from, a multiple of 2²⁴
   * @param own what the text's own are numbered from, another one
   */
  record Computed(int length, int common, long group, long own) implements BlockHashes {
    @Override
    public long hash(int block) {
      return BlockHashes.hashOf((block < common ? group : own) | block);
    }

    @Override
    public long[] first(int blocks) {
      long[] hashes = new long[blocks];
      for (int block = 0; block < blocks; block++) {
        hashes[block] = hash(block);
      }
      return hashes;
    }
  }
}
