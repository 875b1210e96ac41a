package io.kvasir.index;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Memory: never above the budget, exact below it, flat while what is held stays the same. */
final class BlockIndexBudgetTest {
  private static final long[] ALL = {-1L};

  private static long[] chain(long seed, int length) {
    long[] chain = new long[length];
    for (int i = 0; i < length; i++) {
      chain[i] = BlockHash.chained(i == 0 ? BlockHash.NONE : chain[i - 1], seed * 1009 + i + 1);
    }
    return chain;
  }

  private static int depth(BlockIndex index, long[] chain, int slot) {
    int[] depths = new int[64];
    index.search(new Chain(chain, 16), ALL, depths);
    return depths[slot];
  }

  @ParameterizedTest
  @EnumSource(Tier.class)
  void full_refusesNewBlocksAndKeepsTheRestExact(Tier tier) {
    long budget = 2_000_000;
    BlockIndex index = new BlockIndex(64, budget);
    WorkerBlocks worker = index.open(3);
    WorkerBlocks other = index.open(4);
    Deque<long[]> held = new ArrayDeque<>();
    long refused = 0;
    SplittableRandom random = new SplittableRandom(1);
    for (int i = 0; i < 6000; i++) {
      long[] chain = chain(i + 1, 1 + random.nextInt(60));
      int stored = worker.store(0, true, chain, chain, chain.length, tier, true);
      assertThat(index.bytes()).isLessThanOrEqualTo(budget);
      refused += chain.length - stored;
      assertThat(index.refused()).isEqualTo(refused);
      assertThat(depth(index, chain, 3)).isEqualTo(stored);
      if (stored > 0) {
        held.add(Arrays.copyOf(chain, stored));
      }
    }
    assertThat(refused).isPositive();
    int blocks = 0;
    for (long[] chain : held) {
      assertThat(depth(index, chain, 3)).isEqualTo(chain.length);
      blocks += chain.length;
    }
    assertThat(worker.size()).isEqualTo(blocks);
    assertThat(index.rows()).isEqualTo(blocks);
    assertThat(blocks).isGreaterThan(18_000);

    // What is held may be stored again, other workers may or may not find room, removals make room.
    long[] first = held.getFirst();
    assertThat(worker.store(0, true, first, first, first.length, tier, true)).isEqualTo(first.length);
    int others = other.store(0, true, first, first, first.length, tier, true);
    assertThat(depth(index, first, 4)).isEqualTo(others);
    for (long[] chain : held) {
      assertThat(worker.remove(chain, chain.length, tier, false)).isEqualTo(chain.length);
    }
    other.clear();
    assertThat(index.rows()).isZero();
    long[] later = chain(99_999, 50);
    assertThat(worker.store(0, true, later, later, 50, tier, true)).isEqualTo(50);
    assertThat(depth(index, later, 3)).isEqualTo(50);
    assertThat(index.bytes()).isLessThanOrEqualTo(budget);
  }

  @Test
  void churn_isFlat() {
    BlockIndex index = new BlockIndex(64, 64 << 20);
    WorkerBlocks worker = index.open(0);
    SplittableRandom random = new SplittableRandom(7);
    Deque<long[]> held = new ArrayDeque<>();
    int blocks = 0;
    long settled = 0;
    for (int i = 0; i < 60_000; i++) {
      long[] chain = chain(random.nextLong(), 1 + random.nextInt(50));
      worker.store(0, true, chain, chain, chain.length, Tier.DEVICE, true);
      held.add(chain);
      blocks += chain.length;
      while (blocks > 5000) {
        long[] oldest = held.removeFirst();
        worker.remove(oldest, oldest.length, Tier.DEVICE, true);
        blocks -= oldest.length;
      }
      if (i == 30_000) {
        settled = index.bytes();
      }
    }
    // Free segments are a shard's own: each may come to keep a chunk more while luck sends it more chains.
    assertThat(index.bytes()).isBetween(settled - 1, settled + settled / 10);
    assertThat(index.rows()).isEqualTo(blocks);
  }

  @Test
  void clear_givesMapsBack() {
    BlockIndex index = new BlockIndex(64, 64 << 20);
    WorkerBlocks worker = index.open(0);
    long[] chain = chain(1, 20_000);
    worker.store(0, true, chain, chain, chain.length, Tier.HOST, true);
    long full = index.bytes();
    worker.clear();
    assertThat(index.bytes()).isLessThan(full - 20_000 * 32);
    long cleared = index.bytes();
    worker.store(0, true, chain, chain, chain.length, Tier.HOST, true);
    assertThat(index.bytes()).isEqualTo(full);
    index.retire(0);
    index.sweep(0);
    assertThat(index.bytes()).isEqualTo(cleared);
  }

  @Test
  void bytes_perPair() {
    BlockIndex index = new BlockIndex(64, 64 << 20);
    int pairs = 0;
    for (int slot = 0; slot < 8; slot++) {
      WorkerBlocks worker = index.open(slot);
      for (int i = 0; i < 200; i++) {
        long[] chain = chain(slot * 1000 + i, 94);
        worker.store(0, true, chain, chain, chain.length, Tier.DEVICE, true);
        pairs += 94;
      }
    }
    assertThat(index.bytes()).isLessThan(64L * pairs);
  }
}
