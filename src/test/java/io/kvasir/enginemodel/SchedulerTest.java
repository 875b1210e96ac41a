package io.kvasir.enginemodel;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class SchedulerTest {
  private static final int BLOCK = 4;
  static final CacheListener DEAF =
      new CacheListener() {
        @Override
        public void stored(Sequence sequence, int from, int to) {}

        @Override
        public void removed(long key) {}

        @Override
        public void cleared() {}
      };

  @Test
  void plan_ofLongPrompt_computesItInChunks() {
    Scheduler<TestSequence> scheduler = scheduler(100, 10, 8);
    scheduler.add(sequence(25, 1, 1));

    assertThat(chunks(scheduler, 4)).containsExactly(10, 10, 5, 0);
    assertThat(scheduler.running()).isZero();
  }

  @Test
  void plan_besidesDecoding_givesPromptsWhatIsLeft() {
    Scheduler<TestSequence> scheduler = scheduler(100, 10, 8);
    scheduler.add(sequence(4, 6, 1));
    chunks(scheduler, 1);
    TestSequence longer = sequence(20, 1, 2);
    scheduler.add(longer);

    EngineStep<TestSequence> step = scheduler.plan();

    assertThat(step.tokens()).isEqualTo(10);
    assertThat(step.sequences()).hasSize(2);
    assertThat(longer.chunk).isEqualTo(9);
  }

  @Test
  void plan_withTheBatchFull_letsTheRestWait() {
    Scheduler<TestSequence> scheduler = scheduler(100, 100, 2);
    for (int i = 0; i < 3; i++) {
      scheduler.add(sequence(4, 2, i));
    }

    assertThat(scheduler.plan().sequences()).hasSize(2);
    assertThat(scheduler.waiting()).isEqualTo(1);
  }

  @Test
  void plan_withoutRoomForTheNext_keepsItWaiting() {
    Scheduler<TestSequence> scheduler = scheduler(4, 100, 8);
    scheduler.add(sequence(12, 2, 1));
    scheduler.add(sequence(8, 2, 2));

    assertThat(scheduler.plan().sequences()).hasSize(1);
    assertThat(scheduler.waiting()).isEqualTo(1);
  }

  @Test
  void plan_whenDecodingOutgrowsTheCache_preemptsTheLastAdmitted() {
    Scheduler<TestSequence> scheduler = scheduler(4, 100, 8);
    TestSequence first = sequence(8, 6, 1);
    TestSequence second = sequence(8, 6, 2);
    scheduler.add(first);
    scheduler.add(second);
    scheduler.complete(scheduler.plan());

    EngineStep<TestSequence> step = scheduler.plan();

    assertThat(step.preempted()).isEqualTo(1);
    assertThat(step.sequences()).containsExactly(first);
    assertThat(scheduler.waiting()).isEqualTo(1);
    drain(scheduler);
    assertThat(second.sampled()).isEqualTo(6);
    assertThat(second.cachedTokens()).as("as told at first").isZero();
  }

  @Test
  void plan_ofWarmPrompt_countsItsHits() {
    Scheduler<TestSequence> scheduler = scheduler(100, 100, 8);
    scheduler.add(sequence(16, 1, 1));
    drain(scheduler);
    TestSequence warm = sequence(16, 1, 1);
    scheduler.add(warm);

    assertThat(scheduler.plan().tokens()).isEqualTo(4);
    assertThat(warm.cachedTokens()).isEqualTo(12);
    assertThat(scheduler.queriedTokens()).isEqualTo(32);
    assertThat(scheduler.hitTokens()).isEqualTo(12);
  }

  /** As in SGLang: who comes in the same iteration computes it all, who comes later finds it, and one copy is kept. */
  @Test
  void sharedOnceComputed_sequencesOfOneStepShareNothing_andThoseBehindItAll() {
    List<Integer> stored = new ArrayList<>();
    CacheListener listener = new CacheListener() {
      @Override
      public void stored(Sequence sequence, int from, int to) {
        stored.add(to - from);
      }

      @Override
      public void removed(long key) {}

      @Override
      public void cleared() {}
    };
    PagedCache cache = PagedCache.ofComputed(100, BLOCK, false, false, listener);
    Scheduler<TestSequence> scheduler = new Scheduler<>(cache, 100, 8);
    TestSequence first = sequence(16, 1, 1);
    TestSequence beside = sequence(16, 1, 1);
    scheduler.add(first);
    scheduler.add(beside);
    EngineStep<TestSequence> step = scheduler.plan();
    assertThat(step.tokens()).isEqualTo(32);
    assertThat(stored).as("nothing is computed").isEmpty();
    scheduler.complete(step);
    assertThat(beside.cachedTokens()).isZero();
    assertThat(stored).as("one copy").containsExactly(16 / BLOCK);
    assertThat(cache.free()).isEqualTo(100);

    TestSequence behind = sequence(16, 1, 1);
    scheduler.add(behind);
    assertThat(scheduler.plan().tokens()).isEqualTo(BLOCK);
    assertThat(behind.cachedTokens()).isEqualTo(16 - BLOCK);
  }

  /** As in SGLang with sessions: what they have used is evicted after all else, each prompt from its end. */
  @Test
  void sessions_keepWhatTheyHaveUsed_untilTheyEnd() {
    List<Long> removed = new ArrayList<>();
    CacheListener listener = new CacheListener() {
      @Override
      public void stored(Sequence sequence, int from, int to) {}

      @Override
      public void removed(long key) {
        removed.add(key);
      }

      @Override
      public void cleared() {}
    };
    int blocks = 12;
    PagedCache cache = PagedCache.ofComputed(blocks, BLOCK, true, false, listener);
    Scheduler<TestSequence> scheduler = new Scheduler<>(cache, 1_000, 8);
    run(scheduler, sequence(4 * BLOCK, 1, 1).in("one"));
    run(scheduler, sequence(4 * BLOCK, 1, 1).in("two"));
    for (int seed = 10; seed < 20; seed++) {
      run(scheduler, sequence(4 * BLOCK, 1, seed));
    }
    assertThat(cached(scheduler, 4 * BLOCK, 1)).as("its session keeps it").isEqualTo(3 * BLOCK);

    cache.endSession("one");
    for (int seed = 20; seed < 30; seed++) {
      run(scheduler, sequence(4 * BLOCK, 1, seed));
    }
    assertThat(cached(scheduler, 4 * BLOCK, 1)).as("the other has it, too").isEqualTo(3 * BLOCK);

    removed.clear();
    cache.endSession("two");
    cache.endSession("two");
    run(scheduler, sequence(2 * BLOCK, 1, 30));
    TestSequence prompt = sequence(4 * BLOCK, 1, 1);
    assertThat(removed).as("from its end").startsWith(prompt.key(3));
    for (int seed = 40; seed < 50; seed++) {
      run(scheduler, sequence(4 * BLOCK, 1, seed));
    }
    assertThat(cached(scheduler, 4 * BLOCK, 1)).isZero();
    assertThat(cache.free()).isEqualTo(blocks);
    assertThat(cache.clear()).isTrue();
    assertThat(cache.free()).isEqualTo(blocks);
  }

  /** More than there is room for: sessions then evict each other, the one that was used least recently first. */
  @Test
  void sessions_thatKeepAllBlocks_giveWayInTheirTurn() {
    PagedCache cache = PagedCache.ofComputed(8, BLOCK, true, false, DEAF);
    Scheduler<TestSequence> scheduler = new Scheduler<>(cache, 1_000, 8);
    for (int seed = 1; seed <= 3; seed++) {
      run(scheduler, sequence(3 * BLOCK + 1, 1, seed).in("s" + seed));
    }
    assertThat(cached(scheduler, 3 * BLOCK + 1, 3)).isEqualTo(3 * BLOCK);
    assertThat(cached(scheduler, 3 * BLOCK + 1, 1)).isLessThan(3 * BLOCK);
  }

  private static void run(Scheduler<TestSequence> scheduler, TestSequence sequence) {
    scheduler.add(sequence);
    while (scheduler.running() + scheduler.waiting() > 0) {
      scheduler.complete(scheduler.plan());
    }
  }

  /** As SGLang's tree forgets which session a node was of when it deletes it. */
  @Test
  void session_hasNothingMoreOfWhatIsEvicted() {
    PagedCache cache = PagedCache.ofComputed(12, BLOCK, true, false, DEAF);
    Scheduler<TestSequence> scheduler = new Scheduler<>(cache, 1_000, 8);
    run(scheduler, sequence(4 * BLOCK, 1, 1).in("never ended"));
    run(scheduler, sequence(11 * BLOCK + 1, 1, 2));
    assertThat(cached(scheduler, 4 * BLOCK, 1)).as("it took all of the memory").isZero();

    for (int seed = 10; seed < 20; seed++) {
      run(scheduler, sequence(4 * BLOCK, 1, seed));
    }

    assertThat(cached(scheduler, 4 * BLOCK, 1)).as("what others have computed is nobody's").isZero();
  }

  /** What a prompt finds in the cache, which it changes. */
  private static int cached(Scheduler<TestSequence> scheduler, int length, int seed) {
    TestSequence sequence = sequence(length, 1, seed);
    run(scheduler, sequence);
    return sequence.cachedTokens();
  }

  @Test
  void abort_whileItsStepRuns_neitherSamplesNorKeepsBlocks() {
    PagedCache cache = new PagedCache(100, BLOCK, DEAF);
    Scheduler<TestSequence> scheduler = new Scheduler<>(cache, 100, 8);
    TestSequence sequence = sequence(10, 5, 1);
    scheduler.add(sequence);
    EngineStep<TestSequence> step = scheduler.plan();

    scheduler.abort(sequence);
    scheduler.complete(step);

    assertThat(sequence.sampled()).isZero();
    assertThat(cache.free()).isEqualTo(100);
    assertThat(scheduler.running()).isZero();
  }

  @Test
  void abort_whileWaiting_takesItOut() {
    Scheduler<TestSequence> scheduler = scheduler(100, 100, 8);
    TestSequence sequence = sequence(10, 5, 1);
    scheduler.add(sequence);

    scheduler.abort(sequence);

    assertThat(scheduler.waiting()).isZero();
    assertThat(scheduler.plan().sequences()).isEmpty();
  }

  @Test
  void everything_atRandomInASmallCache_endsAndFreesAll() {
    for (int seed = 0; seed < 60; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      int capacity = random.nextInt(12, 60);
      PagedCache cache = new PagedCache(capacity, BLOCK, DEAF);
      int budget = random.nextInt(3, 60);
      int maxSequences = random.nextInt(1, 9);
      Scheduler<TestSequence> scheduler = new Scheduler<>(cache, budget, maxSequences);
      List<TestSequence> all = new ArrayList<>();
      int aborted = 0;
      for (int step = 0; step < 5000 && (step < 200 || scheduler.running() + scheduler.waiting() > 0); step++) {
        if (step < 200 && random.nextInt(3) == 0) {
          TestSequence sequence = sequence(random.nextInt(1, 28), random.nextInt(1, 20), random.nextInt(4));
          all.add(sequence);
          scheduler.add(sequence);
        }
        EngineStep<TestSequence> planned = scheduler.plan();
        assertThat(planned.tokens()).isLessThanOrEqualTo(budget);
        assertThat(planned.sequences().size()).isLessThanOrEqualTo(maxSequences);
        if (!all.isEmpty() && random.nextInt(40) == 0) {
          TestSequence victim = all.remove(random.nextInt(all.size()));
          scheduler.abort(victim);
          aborted++;
        }
        scheduler.complete(planned);
      }

      String which = "seed " + seed;
      assertThat(scheduler.running() + scheduler.waiting()).as(which).isZero();
      assertThat(cache.free()).as(which).isEqualTo(capacity);
      assertThat(aborted).as(which).isPositive();
      for (TestSequence sequence : all) {
        assertThat(sequence.length()).as(which).isEqualTo(sequence.promptLength() + sequence.sampled());
        assertThat(sequence.cachedTokens()).as(which).isBetween(0, sequence.promptLength() - 1);
      }
    }
  }

  @Test
  void repeat_atRandomInASmallCache_isWhatStepsOneByOneAre() {
    int repeated = 0;
    for (int seed = 0; seed < 60; seed++) {
      List<String> single = new ArrayList<>();
      List<String> atOnce = new ArrayList<>();
      int _ = runAtRandom(seed, false, single);
      repeated += runAtRandom(seed, true, atOnce);

      assertThat(atOnce).as("seed " + seed).isEqualTo(single);
    }
    assertThat(repeated).isGreaterThan(1000);
  }

  /** Runs random sequences, writes down what happens in which iteration, and returns how many were repeats. */
  private static int runAtRandom(int seed, boolean repeating, List<String> log) {
    SplittableRandom random = new SplittableRandom(seed);
    int[] iteration = {0};
    CacheListener listener =
        new CacheListener() {
          @Override
          public void stored(Sequence sequence, int from, int to) {
            log.add(iteration[0] + " stored " + sequence.key(from) + " to " + sequence.key(to - 1));
          }

          @Override
          public void removed(long key) {
            log.add(iteration[0] + " removed " + key);
          }

          @Override
          public void cleared() {}
        };
    PagedCache cache = new PagedCache(random.nextInt(20, 60), BLOCK, listener);
    Scheduler<TestSequence> scheduler = new Scheduler<>(cache, random.nextInt(8, 60), random.nextInt(1, 9));
    List<TestSequence> all = new ArrayList<>();
    int nextArrival = 0;
    int repeated = 0;
    while (all.size() < 30 || scheduler.running() + scheduler.waiting() > 0) {
      while (iteration[0] >= nextArrival && all.size() < 30) {
        TestSequence sequence = sequence(random.nextInt(1, 28), random.nextInt(1, 40), random.nextInt(4));
        all.add(sequence);
        scheduler.add(sequence);
        nextArrival += random.nextInt(12);
      }
      EngineStep<TestSequence> step = scheduler.plan();
      int repeats = 0;
      if (repeating) {
        int quiet = all.size() < 30 ? nextArrival - iteration[0] - 1 : Integer.MAX_VALUE;
        repeats = Math.clamp(quiet, 0, scheduler.repeats(step));
        step.advance(repeats);
        scheduler.repeat(step, repeats);
      }
      iteration[0] += repeats;
      repeated += repeats;
      int before = scheduler.running();
      long context = step.decodeContext();
      scheduler.complete(step);
      if (scheduler.running() < before) {
        log.add(iteration[0] + " ended " + (before - scheduler.running()) + " of " + step.tokens() + " in " + context);
      }
      iteration[0]++;
    }
    for (TestSequence sequence : all) {
      log.add(sequence.sampled() + " sampled, " + sequence.cachedTokens() + " cached, " + sequence.length() + " long");
    }
    return repeated;
  }

  private static void drain(Scheduler<TestSequence> scheduler) {
    for (int i = 0; i < 1000 && scheduler.running() + scheduler.waiting() > 0; i++) {
      scheduler.complete(scheduler.plan());
    }
    assertThat(scheduler.running() + scheduler.waiting()).isZero();
  }

  private static List<Integer> chunks(Scheduler<TestSequence> scheduler, int steps) {
    List<Integer> chunks = new ArrayList<>();
    for (int i = 0; i < steps; i++) {
      EngineStep<TestSequence> step = scheduler.plan();
      chunks.add(step.tokens());
      scheduler.complete(step);
    }
    return chunks;
  }

  private static Scheduler<TestSequence> scheduler(int capacity, int budget, int maxSequences) {
    return new Scheduler<>(new PagedCache(capacity, BLOCK, DEAF), budget, maxSequences);
  }

  private static TestSequence sequence(int prompt, int answer, int family) {
    return new TestSequence(IntStream.range(family * 1000, family * 1000 + prompt).toArray(), answer, BLOCK);
  }
}
