package io.kvasir.index;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** One fact each. Keys are the chain hashes plus 1 where nothing else is said. */
final class BlockIndexTest {
  private static final long[] ALL = {-1L};

  private final BlockIndex index = new BlockIndex(64, 64 << 20);
  private final WorkerBlocks first = index.open(0);
  private final WorkerBlocks second = index.open(63);
  private final int[] depths = new int[64];

  private static long[] chain(int seed, int length) {
    long[] chain = new long[length];
    for (int i = 0; i < length; i++) {
      chain[i] = BlockHash.chained(i == 0 ? BlockHash.NONE : chain[i - 1], seed * 1_000_003L + i + 1);
    }
    return chain;
  }

  /** The first {@code shared} blocks of a chain, then others. */
  private static long[] branch(long[] chain, int shared, int seed, int length) {
    long[] branch = Arrays.copyOf(chain, length);
    for (int i = shared; i < length; i++) {
      branch[i] = BlockHash.chained(i == 0 ? BlockHash.NONE : branch[i - 1], seed * 7_000_003L + i + 1);
    }
    return branch;
  }

  private static long[] keys(long[] hashes) {
    return Arrays.stream(hashes).map(hash -> hash + 1).toArray();
  }

  private static void store(WorkerBlocks worker, long[] chain) {
    assertThat(worker.store(0, true, keys(chain), chain, chain.length, Tier.DEVICE, true)).isEqualTo(chain.length);
  }

  private int depth(long[] chain, int slot) {
    index.search(new Chain(chain, 16), ALL, depths);
    return depths[slot];
  }

  @Test
  void search_empty() {
    assertThat(index.search(new Chain(chain(1, 10), 16), ALL, depths)).isZero();
    assertThat(index.search(Chain.EMPTY, ALL, depths)).isZero();
    assertThat(depths).containsOnly(0);
  }

  @Test
  void search_onlyCandidatesAreWritten() {
    store(first, chain(1, 10));
    Arrays.fill(depths, 77);
    assertThat(index.search(new Chain(chain(1, 10), 16), new long[] {1L << 63}, depths)).isZero();
    assertThat(depths[63]).isZero();
    assertThat(depths[0]).isEqualTo(77);
  }

  @Test
  void search_depthsDiffer() {
    long[] chain = chain(1, 1000);
    store(first, chain);
    store(second, Arrays.copyOf(chain, 530));
    assertThat(index.search(new Chain(chain, 16), ALL, depths)).isEqualTo(1000);
    assertThat(depths[0]).isEqualTo(1000);
    assertThat(depths[63]).isEqualTo(530);
    assertThat(index.rows()).isEqualTo(1000);
  }

  @Test
  void search_everyLengthAndDepth() {
    long[] chain = chain(1, 600);
    for (int held = 1; held <= 600; held += 7) {
      first.clear();
      store(first, Arrays.copyOf(chain, held));
      for (int length = 1; length <= 600; length += 13) {
        assertThat(depth(Arrays.copyOf(chain, length), 0)).isEqualTo(Math.min(held, length));
      }
    }
  }

  @Test
  void search_branches() {
    long[] main = chain(1, 100);
    store(first, main);
    for (int shared = 0; shared < 100; shared += 3) {
      long[] branch = branch(main, shared, shared + 2, 100);
      store(second, branch);
      assertThat(depth(branch, 63)).isEqualTo(100);
      assertThat(depth(branch, 0)).isEqualTo(shared);
      assertThat(depth(main, 0)).isEqualTo(100);
    }
  }

  @Test
  void store_blockByBlock() {
    long[] chain = chain(1, 600);
    long[] keys = keys(chain);
    for (int i = 0; i < chain.length; i++) {
      long parent = i == 0 ? 0 : keys[i - 1];
      assertThat(first.store(parent, i == 0, new long[] {keys[i]}, new long[] {chain[i]}, 1, Tier.DEVICE, true))
          .isEqualTo(1);
    }
    assertThat(depth(chain, 0)).isEqualTo(600);
  }

  @Test
  void store_parentNotHeld() {
    assertThatThrownBy(() -> first.store(99, false, new long[1], new long[] {5}, 1, Tier.DEVICE, true))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("63");
    assertThat(index.rows()).isZero();
  }

  @Test
  void store_hashZero() {
    assertThatThrownBy(() -> first.store(0, true, new long[2], new long[] {5, 0}, 2, Tier.DEVICE, true))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("hashes[1]");
    assertThat(index.rows()).isZero();
  }

  @Test
  void store_keyZero() {
    long[] chain = chain(1, 3);
    first.store(0, true, new long[] {0, 1, -1}, chain, 3, Tier.DEVICE, true);
    assertThat(first.hashOf(0)).isEqualTo(chain[0]);
    assertThat(first.hashOf(-1)).isEqualTo(chain[2]);
    assertThat(first.hashOf(2)).isEqualTo(BlockHash.NONE);
    assertThat(first.remove(0, Tier.DEVICE, true)).isTrue();
    assertThat(first.hashOf(0)).isEqualTo(BlockHash.NONE);
    assertThat(depth(chain, 0)).isZero();
  }

  @Test
  void store_sameKeyAgainCountsCopies() {
    long[] chain = chain(1, 3);
    store(first, chain);
    store(first, chain);
    assertThat(first.size()).isEqualTo(3);
    long[] keys = keys(chain);
    assertThat(first.remove(keys, 3, Tier.DEVICE, true)).isZero();
    assertThat(depth(chain, 0)).isEqualTo(3);
    assertThat(first.remove(keys, 3, Tier.DEVICE, true)).isEqualTo(3);
    assertThat(depth(chain, 0)).isZero();
    assertThat(first.remove(keys, 3, Tier.DEVICE, true)).isZero();
  }

  @Test
  void store_uncountedIsASet() {
    long[] chain = chain(1, 3);
    for (int i = 0; i < 5; i++) {
      first.store(0, true, keys(chain), chain, 3, Tier.DEVICE, false);
    }
    assertThat(first.remove(keys(chain), 3, Tier.DEVICE, true)).isEqualTo(3);
    assertThat(index.rows()).isZero();
  }

  @Test
  void store_manyCopiesEndEarlyRatherThanLate() {
    long[] chain = chain(1, 1);
    for (int i = 0; i < 300; i++) {
      store(first, chain);
    }
    for (int i = 0; i < 300; i++) {
      first.remove(chain[0] + 1, Tier.DEVICE, true);
    }
    assertThat(depth(chain, 0)).isZero();
    assertThat(first.size()).isZero();
  }

  @Test
  void store_keyWithAnotherParentNamesTheNewerBlock() {
    long[] older = chain(1, 5);
    long[] newer = chain(2, 5);
    long[] keys = keys(older);
    first.store(0, true, keys, older, 5, Tier.DEVICE, true);
    first.store(0, true, keys, newer, 5, Tier.DEVICE, true);
    assertThat(first.hashOf(keys[2])).isEqualTo(newer[2]);
    assertThat(depth(older, 0)).isZero();
    assertThat(depth(newer, 0)).isEqualTo(5);
    assertThat(index.rows()).isEqualTo(5);
    assertThat(first.remove(keys, 5, Tier.DEVICE, true)).isEqualTo(5);
    assertThat(index.rows()).isZero();
  }

  @Test
  void store_keysThatChangePlacesInOneBatch() {
    long[] chain = chain(1, 2);
    first.store(0, true, new long[] {10, 20}, chain, 2, Tier.DEVICE, true);
    first.store(0, true, new long[] {20, 10}, chain, 2, Tier.DEVICE, true);
    assertThat(first.hashOf(20)).isEqualTo(chain[0]);
    assertThat(first.hashOf(10)).isEqualTo(chain[1]);
    assertThat(depth(chain, 0)).isEqualTo(2);
    assertThat(first.size()).isEqualTo(2);
  }

  @Test
  void store_severalKeysForOneBlock() {
    long[] chain = chain(1, 4);
    first.store(0, true, new long[] {1, 2, 3, 4}, chain, 4, Tier.DEVICE, true);
    first.store(0, true, new long[] {5, 6, 7, 8}, chain, 4, Tier.HOST, true);
    first.remove(new long[] {1, 2, 3, 4}, 4, Tier.DEVICE, true);
    assertThat(depth(chain, 0)).isEqualTo(4);
    int[] tiers = new int[4];
    assertThat(index.tiers(new Chain(chain, 16), 0, tiers)).isEqualTo(4);
    assertThat(tiers).containsExactly(0, 4, 0, 0);
    first.remove(new long[] {8, 7}, 2, Tier.HOST, true);
    assertThat(depth(chain, 0)).isEqualTo(2);
  }

  @Test
  void remove_oneTierLeavesTheOther() {
    long[] chain = chain(1, 40);
    store(first, chain);
    first.store(0, true, keys(chain), chain, 40, Tier.DISK, true);
    first.remove(keys(chain), 30, Tier.DEVICE, true);
    int[] tiers = new int[4];
    assertThat(depth(chain, 0)).isEqualTo(40);
    assertThat(index.tiers(new Chain(chain, 16), 0, tiers)).isEqualTo(40);
    assertThat(tiers).containsExactly(10, 0, 30, 0);
    first.clear(Tier.DISK);
    assertThat(first.size()).isEqualTo(10);
    first.clear(Tier.DEVICE);
    assertThat(index.rows()).isZero();
  }

  @Test
  void remove_inTheMiddleLeavesAHole() {
    long[] chain = chain(1, 48);
    store(first, chain);
    first.remove(chain[20] + 1, Tier.DEVICE, true);
    Chain whole = new Chain(chain, 16);
    assertThat(index.verify(whole, 0)).isEqualTo(20);
    assertThat(index.linear(whole, ALL, depths)).isEqualTo(20);
    assertThat(first.hashOf(chain[21] + 1)).isEqualTo(chain[21]);
    first.store(
        chain[19] + 1, false, new long[] {chain[20] + 1}, new long[] {chain[20]}, 1, Tier.DEVICE, true);
    assertThat(index.verify(whole, 0)).isEqualTo(48);
  }

  @Test
  void remove_headAndStoreItAgainFindsTheOldTail() {
    // The head's segment ends and comes again, with another child first, while the branch lives on.
    long[] main = chain(1, 12);
    long[] branch = branch(main, 10, 2, 60);
    store(first, main);
    store(second, branch);
    first.clear();
    second.remove(keys(branch), 10, Tier.DEVICE, true);
    assertThat(index.rows()).isEqualTo(50);
    second.store(0, true, keys(branch), branch, 10, Tier.DEVICE, true);
    assertThat(depth(branch, 63)).isEqualTo(60);
    store(first, branch);
    assertThat(index.rows()).isEqualTo(60);
    assertThat(depth(branch, 0)).isEqualTo(60);
    assertThat(depth(branch, 63)).isEqualTo(60);
  }

  @Test
  void hashes_thatShareTableEntriesAreToldApart() {
    // The upper half alone differs, and the product's low half, which is the tag, does not.
    long[] roots = new long[200];
    for (int i = 0; i < roots.length; i++) {
      roots[i] = ((long) i << 32) | 0xABCDEF01L;
      first.store(0, true, new long[] {i}, new long[] {roots[i]}, 1, Tier.DEVICE, true);
    }
    for (int i = 0; i < roots.length; i += 2) {
      first.remove(i, Tier.DEVICE, true);
    }
    for (int i = 0; i < roots.length; i++) {
      assertThat(depth(new long[] {roots[i]}, 0)).isEqualTo(i % 2);
    }
  }

  @Test
  void retire_isGoneAtOnceAndItsHandleDoesNothing() {
    long[] chain = chain(1, 20);
    store(first, chain);
    store(second, chain);
    index.retire(0);
    assertThat(depth(chain, 0)).isZero();
    assertThat(depth(chain, 63)).isEqualTo(20);
    assertThat(index.verify(new Chain(chain, 16), 0)).isZero();
    assertThat(first.store(0, true, keys(chain), chain, 20, Tier.DEVICE, true)).isZero();
    assertThat(first.remove(chain[0] + 1, Tier.DEVICE, true)).isFalse();
    first.clear();
    index.retire(0);
    assertThatThrownBy(() -> index.open(0)).isInstanceOf(IllegalStateException.class).hasMessageContaining("sweep");
    index.sweep(0);
    index.sweep(0);
    WorkerBlocks again = index.open(0);
    assertThat(depth(chain, 0)).isZero();
    store(again, chain);
    assertThat(depth(chain, 0)).isEqualTo(20);
    assertThat(first.size()).isZero();
  }

  @Test
  void sweep_freesOrphans() {
    store(first, chain(1, 100));
    store(second, Arrays.copyOf(chain(1, 100), 30));
    index.retire(0);
    index.sweep(0);
    assertThat(index.rows()).isEqualTo(30);
    index.retire(63);
    index.sweep(63);
    assertThat(index.rows()).isZero();
  }

  @Test
  void sweep_severalAtOnce() {
    long[] chain = chain(1, 100);
    store(first, chain);
    store(second, chain);
    WorkerBlocks third = index.open(7);
    store(third, Arrays.copyOf(chain, 30));
    index.retire(0);
    assertThatThrownBy(() -> index.sweep(0, 7))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("slot 7");
    assertThat(index.rows()).isEqualTo(100);
    index.retire(63);
    index.sweep(0, 63, 40);
    assertThat(index.rows()).isEqualTo(30);
    assertThat(depth(chain, 7)).isEqualTo(30);
    store(index.open(63), chain);
    assertThat(depth(chain, 63)).isEqualTo(100);
  }

  @Test
  void sweep_notRetired() {
    assertThatThrownBy(() -> index.sweep(0)).isInstanceOf(IllegalStateException.class).hasMessageContaining("retire");
    assertThatThrownBy(() -> index.open(0)).isInstanceOf(IllegalStateException.class).hasMessageContaining("taken");
    assertThatThrownBy(() -> index.open(64)).isInstanceOf(IllegalArgumentException.class);
    index.sweep(5);
    index.retire(5);
  }

  @Test
  void slots_wrong() {
    assertThatThrownBy(() -> new BlockIndex(100, 1 << 20)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> new BlockIndex(64, 1000))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("budgetBytes");
  }
}
