package io.kvasir.index;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is found because a prompt was sent there, and until when. Keys are the chain hashes plus 1. */
@Tag("lock-free")
final class PredictionsTest {
  private static final long LATER = 100;

  private BlockIndex index = new BlockIndex(64, 64 << 20);
  private WorkerBlocks worker = index.open(5);

  private static long[] chain(int seed, int length) {
    long[] chain = new long[length];
    for (int i = 0; i < length; i++) {
      chain[i] = BlockHash.chained(i == 0 ? BlockHash.NONE : chain[i - 1], seed * 1_000_003L + i + 1);
    }
    return chain;
  }

  private static long[] keys(long[] hashes) {
    return Arrays.stream(hashes).map(hash -> hash + 1).toArray();
  }

  private void store(long[] chain) {
    worker.store(0, true, keys(chain), chain, chain.length, Tier.DEVICE, true);
  }

  private int depth(long[] chain) {
    long[] all = new long[index.slots() / 64];
    Arrays.fill(all, -1);
    int[] depths = new int[index.slots()];
    index.search(new Chain(chain, 16), all, depths);
    assertThat(index.verify(new Chain(chain, 16), 5)).isEqualTo(depths[5]);
    return depths[5];
  }

  @ParameterizedTest
  @ValueSource(ints = {64, 128, 256})
  void predict_isFoundUntilItExpires(int slots) {
    index = new BlockIndex(slots, 64 << 20);
    worker = index.open(5);
    long[] chain = chain(1, 700);
    Prediction prediction = worker.predict(chain, LATER);
    assertThat(depth(chain)).isEqualTo(700);
    assertThat(worker.predicted()).isEqualTo(700);
    assertThat(worker.size()).isZero();
    assertThat(prediction.confirmed()).isZero();
    worker.expire(LATER - 1);
    assertThat(depth(chain)).isEqualTo(700);
    worker.expire(LATER);
    assertThat(depth(chain)).isZero();
    assertThat(worker.predicted()).isZero();
    assertThat(index.rows()).isZero();
  }

  @Test
  void reported_isWhatKeysName_upToTheFirstBlockThatIsOnlyPredicted() {
    SplittableRandom random = new SplittableRandom(7);
    for (int round = 0; round < 300; round++) {
      long[] chain = chain(round, 1 + random.nextInt(150));
      int stored = random.nextInt(chain.length + 1);
      if (stored > 0) {
        store(Arrays.copyOf(chain, stored));
      }
      Prediction prediction = worker.predict(Arrays.copyOf(chain, 1 + random.nextInt(chain.length)), LATER);
      assertThat(index.reported(new Chain(chain, 16), 5)).isEqualTo(stored);
      if (random.nextBoolean()) {
        prediction.retract();
      } else {
        store(chain);
        stored = chain.length;
      }
      assertThat(index.reported(new Chain(chain, 16), 5)).isEqualTo(stored);
      assertThat(index.reported(new Chain(chain(round + 1000, 9), 16), 5)).isZero();
      assertThat(index.reported(new Chain(chain, 16), 6)).isZero();
    }
    worker.expire(LATER);
    assertThat(worker.predicted()).isZero();
    assertThat(index.reported(new Chain(chain(299, 150), 16), 5)).isEqualTo(depth(chain(299, 150)));
  }

  @Test
  void predict_beyondWhatIsHeld() {
    long[] chain = chain(1, 100);
    store(Arrays.copyOf(chain, 37));
    assertThat(worker.predict(chain, LATER).confirmed()).isEqualTo(37);
    assertThat(worker.predicted()).isEqualTo(63);
    assertThat(worker.predict(chain, LATER).confirmed()).isEqualTo(37);
    assertThat(depth(chain)).isEqualTo(100);
    worker.expire(LATER);
    assertThat(depth(chain)).isEqualTo(37);
  }

  @Test
  void store_confirms() {
    long[] chain = chain(1, 50);
    worker.predict(chain, LATER);
    store(Arrays.copyOf(chain, 30));
    assertThat(worker.predicted()).isEqualTo(20);
    worker.expire(LATER);
    assertThat(depth(chain)).isEqualTo(30);
    long[] keys = keys(chain);
    assertThat(worker.remove(keys, 50, Tier.DEVICE, true)).isEqualTo(30);
    assertThat(depth(chain)).isZero();
    assertThat(index.rows()).isZero();
  }

  @Test
  void store_confirmsInAnotherTier() {
    long[] chain = chain(1, 5);
    worker.predict(chain, LATER);
    worker.store(0, true, keys(chain), chain, 5, Tier.HOST, true);
    int[] tiers = new int[4];
    assertThat(index.tiers(new Chain(chain, 16), 5, tiers)).isEqualTo(5);
    assertThat(tiers).containsExactly(0, 5, 0, 0);
    assertThat(worker.remove(keys(chain), 5, Tier.HOST, true)).isEqualTo(5);
    assertThat(index.rows()).isZero();
  }

  @Test
  void retract_leavesWhatWasConfirmed() {
    long[] chain = chain(1, 50);
    Prediction prediction = worker.predict(chain, LATER);
    store(Arrays.copyOf(chain, 10));
    prediction.retract();
    prediction.retract();
    assertThat(depth(chain)).isEqualTo(10);
    assertThat(worker.predicted()).isZero();
  }

  @Test
  void retract_leavesWhatSiblingsRelyOn() {
    long[] chain = chain(1, 50);
    Prediction first = worker.predict(chain, LATER);
    Prediction second = worker.predict(Arrays.copyOf(chain, 20), LATER);
    Prediction third = worker.predict(Arrays.copyOf(chain, 35), LATER);
    first.retract();
    assertThat(depth(chain)).isEqualTo(35);
    third.retract();
    assertThat(depth(chain)).isEqualTo(20);
    second.retract();
    assertThat(depth(chain)).isZero();
    assertThat(index.rows()).isZero();
  }

  @Test
  void retract_late_leavesWhatWasPredictedSince() {
    long[] chain = chain(1, 50);
    Prediction old = worker.predict(chain, LATER);
    worker.expire(LATER);
    worker.predict(chain, 2 * LATER);
    old.retract();
    assertThat(depth(chain)).isEqualTo(50);
  }

  @Test
  void expire_onlyWhatNobodyPredictedForLonger() {
    long[] chain = chain(1, 50);
    worker.predict(chain, LATER);
    worker.predict(Arrays.copyOf(chain, 20), 3 * LATER);
    worker.predict(chain(2, 10), 2 * LATER);
    worker.expire(LATER);
    assertThat(depth(chain)).isEqualTo(20);
    worker.expire(2 * LATER);
    assertThat(depth(chain(2, 10))).isZero();
    assertThat(depth(chain)).isEqualTo(20);
    worker.expire(3 * LATER);
    assertThat(index.rows()).isZero();
  }

  @Test
  void remove_ofAKey_leavesNoPredictionBehind() {
    long[] chain = chain(1, 20);
    store(chain);
    worker.predict(chain, LATER);
    assertThat(worker.predicted()).isZero();
    worker.remove(keys(chain), 20, Tier.DEVICE, true);
    assertThat(depth(chain)).isZero();
  }

  @Test
  void capacity_deepestOfTheOldestGoFirst() {
    index = new BlockIndex(64, 64 << 20);
    worker = index.open(5, 100);
    worker.predict(chain(1, 40), Long.MAX_VALUE);
    worker.predict(chain(2, 40), Long.MAX_VALUE);
    worker.predict(chain(1, 30), Long.MAX_VALUE);
    worker.predict(chain(3, 40), Long.MAX_VALUE);
    assertThat(worker.predicted()).isEqualTo(100);
    assertThat(depth(chain(1, 40))).as("its last ten are the oldest of all").isEqualTo(30);
    assertThat(depth(chain(2, 40))).isEqualTo(30);
    assertThat(depth(chain(3, 40))).isEqualTo(40);
    worker.predict(chain(4, 60), Long.MAX_VALUE);
    assertThat(depth(chain(2, 40))).isZero();
    assertThat(depth(chain(1, 40))).isZero();
    assertThat(depth(chain(3, 40))).isEqualTo(40);
    assertThat(depth(chain(4, 60))).isEqualTo(60);
    worker.predict(chain(5, 1000), Long.MAX_VALUE);
    assertThat(depth(chain(5, 1000))).isEqualTo(100);
    assertThat(index.rows()).isEqualTo(100);
  }

  @Test
  void capacity_longPromptOverOldOnes_staysWhole() {
    index = new BlockIndex(64, 64 << 20);
    worker = index.open(5, 1000);
    long[] longest = chain(1, 1000);
    worker.predict(longest, Long.MAX_VALUE);
    worker.predict(chain(2, 400), Long.MAX_VALUE);
    assertThat(depth(longest)).isEqualTo(600);
    worker.predict(longest, Long.MAX_VALUE);
    assertThat(depth(longest)).isEqualTo(1000);
    assertThat(depth(chain(2, 400))).isZero();
    assertThat(index.rows()).isEqualTo(1000);
  }

  @Test
  void clear_andRetire_takeAll_andGiveTheMemoryBack() {
    long[] chain = chain(1, 500);
    worker.predict(chain, LATER);
    long full = index.bytes();
    worker.clear();
    assertThat(depth(chain)).isZero();
    assertThat(index.rows()).isZero();
    assertThat(index.bytes()).isLessThan(full - 500 * 36);
    long cleared = index.bytes();
    worker.predict(chain, LATER);
    assertThat(index.bytes()).isEqualTo(full);
    index.retire(5);
    assertThat(depth(chain)).isZero();
    assertThat(worker.predict(chain(2, 5), LATER).confirmed()).isZero();
    index.sweep(5);
    assertThat(index.bytes()).isEqualTo(cleared);
    assertThat(index.rows()).isZero();
  }

  @Test
  void budget_reached_isCounted_andNothingLeaks() {
    index = new BlockIndex(64, 400_000);
    worker = index.open(5);
    int predicted = 0;
    for (int i = 0; i < 200; i++) {
      long before = index.refused();
      worker.predict(chain(i, 100), LATER);
      int placed = 100 - (int) (index.refused() - before);
      assertThat(depth(chain(i, 100))).isEqualTo(placed);
      assertThat(index.bytes()).isLessThanOrEqualTo(400_000);
      predicted += placed;
    }
    assertThat(index.refused()).isPositive();
    assertThat(worker.predicted()).isEqualTo(predicted).isPositive();
    worker.expire(LATER);
    assertThat(index.rows()).isZero();
  }

  @Test
  void longPrompts_takeMemoryBySegment() {
    for (int seed = 1; seed <= 20; seed++) {
      worker.predict(chain(seed, 3000), LATER);
    }
    assertThat(worker.predicted()).isEqualTo(60_000);
    assertThat(index.bytes() / 60_000).isLessThan(32);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void budget_withoutRoomToTellPromptsApart_leavesNothingBehind(long seed) {
    long budget = 100_000;
    index = new BlockIndex(64, budget);
    worker = index.open(5);
    SplittableRandom random = new SplittableRandom(seed);
    long[] chain = chain(1, 900);
    Deque<Prediction> made = new ArrayDeque<>();
    worker.predict(chain, LATER);
    long before = index.bytes();
    assertThat(depth(chain)).isEqualTo(900);
    for (int i = 0; i < 2000; i++) {
      made.add(worker.predict(Arrays.copyOf(chain, 1 + random.nextInt(900)), LATER + random.nextInt(50)));
      assertThat(index.bytes()).isLessThanOrEqualTo(budget);
      assertThat(depth(chain)).isEqualTo(900);
      if (made.size() > 40) {
        made.removeFirst().retract();
      }
    }
    assertThat(index.bytes()).isEqualTo(before);
    worker.expire(LATER + 50);
    assertThat(worker.predicted()).isZero();
    assertThat(index.rows()).isZero();
    made.forEach(Prediction::retract);
    worker.predict(chain, 2 * LATER);
    assertThat(depth(chain)).isEqualTo(900);
  }

  @Test
  void predict_hashZero() {
    assertThatThrownBy(() -> worker.predict(new long[] {5, 0}, LATER))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("hashes[1]");
  }

  /** Predictions from many threads beside the writer: none waits, none is lost, and no bit is left behind. */
  @Test
  void threads_leaveNothingBehind() throws InterruptedException {
    int threads = 4;
    CountDownLatch start = new CountDownLatch(1);
    Thread[] predictors = new Thread[threads];
    for (int t = 0; t < threads; t++) {
      int first = t;
      predictors[t] = Thread.ofPlatform().start(() -> {
        await(start);
        for (int i = 0; i < 3000; i++) {
          Prediction prediction = worker.predict(chain((i + first) % 17, 20 + i % 60), LATER + i % 7);
          if (i % 3 == 0) {
            prediction.retract();
          }
        }
      });
    }
    start.countDown();
    for (int i = 0; i < 3000; i++) {
      long[] chain = chain(i % 13, 10 + i % 50);
      store(chain);
      worker.expire(i % 11 == 0 ? LATER + 3 : 0);
      worker.remove(keys(chain), chain.length, Tier.DEVICE, true);
    }
    for (Thread predictor : predictors) {
      predictor.join();
    }
    assertThat(worker.size()).isZero();
    worker.expire(Long.MAX_VALUE);
    assertThat(worker.predicted()).isZero();
    assertThat(index.rows()).isZero();
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
