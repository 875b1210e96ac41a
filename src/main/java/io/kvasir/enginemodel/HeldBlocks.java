package io.kvasir.enginemodel;

import java.util.Arrays;

/** The blocks that a sequence holds in a group of a hybrid model, by their place in it. */
final class HeldBlocks {
  /** What stands where it holds none. */
  static final int NONE = -1;

  int[] blocks = new int[8];

  /** Places, with those where it holds none. */
  int count;

  /** Leading places whose blocks are cached, or never will be. */
  int keyed;

  /** Leading places where it holds none any more. */
  int unseen;

  int get(int place) {
    return blocks[place];
  }

  void set(int place, int block) {
    blocks[place] = block;
  }

  /** Adds places where it holds none, up to so many. */
  void pad(int to) {
    if (to > count) {
      makeRoom(to - count);
      Arrays.fill(blocks, count, to, NONE);
      count = to;
    }
  }

  void add(int block) {
    makeRoom(1);
    blocks[count++] = block;
  }

  void clear() {
    count = 0;
    keyed = 0;
    unseen = 0;
  }

  void makeRoom(int more) {
    if (count + more > blocks.length) {
      blocks = Arrays.copyOf(blocks, Math.max(count + more, 2 * count));
    }
  }
}
