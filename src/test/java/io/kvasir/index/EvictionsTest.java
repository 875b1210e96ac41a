package io.kvasir.index;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

final class EvictionsTest {
  private static final long BUDGET = 256L << 20;
  private static final int WORKERS = 3;

  private final SplittableRandom random = new SplittableRandom(11);
  private final BlockIndex index = new BlockIndex(64, BUDGET);
  private final FifoEngine[] engines = new FifoEngine[WORKERS];

  /** An engine that evicts its oldest block when it is full. */
  private final class FifoEngine {
    private final WorkerBlocks blocks;
    private final int capacity;
    private final Queue<Long> held = new ArrayDeque<>();

    FifoEngine(int slot, int capacity) {
      this.blocks = index.open(slot);
      this.capacity = capacity;
    }

    /** Computes a block unless it is held; returns what it evicted for it, 0 for nothing. */
    long use(long hash) {
      if (held.contains(hash)) {
        return 0;
      }
      int _ = blocks.store(0, true, new long[] {hash}, new long[] {hash}, 1, Tier.DEVICE, true);
      held.add(hash);
      if (held.size() <= capacity) {
        return 0;
      }
      long oldest = held.remove();
      boolean _ = blocks.remove(oldest, Tier.DEVICE, true);
      return oldest;
    }
  }

  private void open(int... capacities) {
    for (int slot = 0; slot < capacities.length; slot++) {
      engines[slot] = new FifoEngine(slot, capacities[slot]);
    }
  }

  @Test
  void latestEvicted_isOfEachWorker_untilItIsCleared() {
    open(2, 2);
    engines[0].use(hash(0));
    engines[0].use(hash(1));
    assertThat(index.latestEvicted()).as("memory has room").isNull();
    engines[0].use(hash(2));
    engines[0].use(hash(3));
    engines[1].use(hash(4));

    assertThat(index.latestEvicted()).startsWith(hash(1), BlockHash.NONE, BlockHash.NONE);
    long[] both = {hash(2), hash(3)};
    assertThat(engines[0].blocks.remove(both, 2, Tier.DEVICE, true)).isEqualTo(2);
    assertThat(index.latestEvicted()).startsWith(hash(3), BlockHash.NONE);
    engines[0].blocks.clear();
    assertThat(index.latestEvicted()).startsWith(BlockHash.NONE, BlockHash.NONE);
  }

  @Test
  void evictionLoss_memoryThatHasRoom_isNone() {
    open(300);
    for (int i = 0; i < 3_000; i++) {
      engines[0].use(hash(i % 300));
    }

    assertThat(index.evictionLoss(0)).isZero();
  }

  @Test
  void evictionLoss_blocksThatNobodyAsksForAgain_isNone() {
    open(300);
    for (int i = 0; i < 10_000; i++) {
      engines[0].use(hash(i));
    }

    assertThat(index.evictionLoss(0)).isCloseTo(0, within(0.01));
  }

  @Test
  void evictionLoss_moreInUseThanFits_nearsOne_andFallsWhenThatEnds() {
    open(300);
    for (int i = 0; i < 6_000; i++) {
      engines[0].use(hash(i % 600));
    }
    double full = index.evictionLoss(0);
    for (int i = 0; i < 3_000; i++) {
      engines[0].use(hash(10_000 + i));
    }

    assertThat(full).isBetween(0.9, 1.0);
    assertThat(index.evictionLoss(0)).isLessThan(0.05);
  }

  /** A block that comes back when the worker has turned over its memory many times is nobody's loss. */
  @Test
  void evictionLoss_blocksThatComeBackLate_isNone() {
    open(300);
    int cycle = (Evictions.HORIZON + 2) * 300;
    for (int i = 0; i < 4 * cycle; i++) {
      engines[0].use(hash(i % cycle));
    }

    assertThat(index.evictionLoss(0)).isCloseTo(0, within(0.01));
  }

  /** A worker that evicts nothing more cannot show that it would lose nothing: what is known of it fades. */
  @Test
  void evictionLoss_ofAWorkerThatEvictsNothingMore_fadesWhileOthersEvict() {
    open(300, 300, 300);
    for (int i = 0; i < 6_000; i++) {
      engines[0].use(hash(i % 600));
      engines[1].use(hash(10_000 + i % 600));
    }
    double before = index.evictionLoss(0);
    for (int i = 0; i < 12 * 3 * 300; i++) {
      engines[1].use(hash(10_000 + i % 600));
      engines[2].use(hash(100_000 + i));
    }

    assertThat(before).isGreaterThan(0.9);
    assertThat(index.evictionLoss(0)).isLessThan(0.1);
    assertThat(index.evictionLoss(1)).as("one that still loses").isGreaterThan(0.9);
  }

  /** Whoever computes the block again, who evicted it is charged. */
  @Test
  void evictionLoss_isTheEvictors() {
    open(300, 5_000);
    for (int i = 0; i < 3_000; i++) {
      long evicted = engines[0].use(hash(i));
      if (evicted != 0) {
        engines[1].use(evicted);
      }
    }

    assertThat(index.evictionLoss(0)).isGreaterThan(0.9);
    assertThat(index.evictionLoss(1)).isZero();
  }

  @Test
  void evictionLoss_ofAWorkerThatIsNew_orOfOneThatLosesAllAtOnce_isUnknown() {
    open(300);
    for (int i = 0; i < 6_000; i++) {
      engines[0].use(hash(i % 600));
    }
    index.retire(0);
    index.sweep(0);
    engines[0] = new FifoEngine(0, 300);
    assertThat(index.evictionLoss(0)).isZero();

    for (int round = 0; round < 20; round++) {
      engines[0].blocks.clear();
      engines[0].held.clear();
      for (int i = 0; i < 300; i++) {
        engines[0].use(hash(i));
      }
    }
    assertThat(index.evictionLoss(0)).isZero();
  }

  /** Whoever gets the slot of one that has left has not evicted what that has. */
  @Test
  void evictionLoss_ofTheWorkerBefore_isNotThatOfItsSuccessor() {
    open(300, 5_000);
    for (int i = 0; i < 600; i++) {
      engines[0].use(hash(i));
    }
    index.retire(0);
    index.sweep(0);
    engines[0] = new FifoEngine(0, 300);
    for (int i = 0; i < 300; i++) {
      engines[1].use(hash(i));
    }
    for (int i = 0; i < 310; i++) {
      engines[0].use(hash(10_000 + i));
    }

    assertThat(index.evictionLoss(0)).isZero();
  }

  /** With events it is the engine that evicts; that predictions are given up says nothing of it. */
  @Test
  void evictionLoss_tooManyPredictions_ofAnEngineWithEvents_areNone() {
    WorkerBlocks blocks = index.open(5);
    long[] prompt = new long[1 << 14];
    for (int i = 0; i < 8; i++) {
      for (int at = 0; at < prompt.length; at++) {
        prompt[at] = hash(i * prompt.length + at);
      }
      Prediction _ = blocks.predict(prompt.clone(), 1_000);
    }
    for (int i = 0; i < 4 * prompt.length; i++) {
      long hash = hash(i);
      int _ = blocks.store(0, true, new long[] {hash}, new long[] {hash}, 1, Tier.DEVICE, true);
    }
    for (int i = 0; i < 1_000; i++) {
      boolean _ = blocks.remove(hash(i), Tier.DEVICE, true);
    }

    assertThat(index.evictionLoss(5)).isZero();
  }

  /** An engine without events evicts what the index predicts it to. */
  @Test
  void evictionLoss_predictedBlocks_countAsThoseOfEvents() {
    WorkerBlocks blocks = index.open(5, 300);
    for (int i = 0; i < 300; i++) {
      long[] prompt = new long[20];
      for (int at = 0; at < prompt.length; at++) {
        prompt[at] = hash(i % 30 * 20 + at);
      }
      Prediction _ = blocks.predict(prompt, Long.MAX_VALUE);
    }

    assertThat(index.evictionLoss(5)).isGreaterThan(0.9);
  }

  /** A sample of large memories agrees with what it stands for. */
  @Test
  void evictionLoss_ofALargeMemory_isThatOfItsSample() {
    int capacity = 40_000;
    WorkerBlocks blocks = index.open(0);
    long[] ring = new long[capacity];
    for (int i = 0; i < 6 * capacity; i++) {
      long evicted = ring[i % capacity];
      // Of what is evicted every third block is needed at once, each as something new.
      long next = evicted != 0 && i % 3 == 0 ? evicted : hash(i);
      if (evicted != 0) {
        boolean _ = blocks.remove(evicted, Tier.DEVICE, true);
      }
      int _ = blocks.store(0, true, new long[] {next}, new long[] {next}, 1, Tier.DEVICE, true);
      ring[i % capacity] = next;
    }

    assertThat(index.evictionLoss(0)).isCloseTo(1 / 3.0, within(0.12));
    double[] losses = index.evictionLosses();
    assertThat(losses).hasSize(64);
    assertThat(losses[0]).isEqualTo(index.evictionLoss(0));
    assertThat(losses[1]).isZero();
  }

  /** Random use of three memories by one set of blocks, beside a running mean that remembers every eviction. */
  @Test
  void evictionLoss_agreesWithTheDefinition() {
    int[] capacities = {100, 150, 250};
    open(capacities);
    double[] share = new double[WORKERS];
    int[] losses = new int[WORKERS];
    int[] counts = new int[WORKERS];
    Map<Long, int[]> evictions = new HashMap<>();
    for (int i = 0; i < 30_000; i++) {
      int slot = random.nextInt(WORKERS);
      long hash = hash(random.nextInt(900));
      if (engines[slot].held.contains(hash)) {
        continue;
      }
      int[] eviction = evictions.remove(hash);
      if (eviction != null && counts[eviction[0]] - eviction[1] < Evictions.HORIZON * capacities[eviction[0]]) {
        losses[eviction[0]]++;
      }
      long evicted = engines[slot].use(hash);
      if (evicted != 0) {
        evictions.put(evicted, new int[] {slot, ++counts[slot]});
        share[slot] = Math.min(1, share[slot] + (losses[slot] - share[slot]) / capacities[slot]);
        losses[slot] = 0;
      }
    }

    for (int slot = 0; slot < WORKERS; slot++) {
      assertThat(index.evictionLoss(slot)).as("worker %d", slot).isCloseTo(share[slot], within(0.04));
    }
    assertThat(share).as("a test that tells them apart").doesNotHaveDuplicates();
  }

  private static long hash(int block) {
    long mixed = (block + 1) * 0x9E3779B97F4A7C15L;
    mixed = (mixed ^ (mixed >>> 30)) * 0xBF58476D1CE4E5B9L;
    mixed = (mixed ^ (mixed >>> 27)) * 0x94D049BB133111EBL;
    return mixed ^ (mixed >>> 31);
  }
}
