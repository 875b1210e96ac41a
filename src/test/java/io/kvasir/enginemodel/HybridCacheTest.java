package io.kvasir.enginemodel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.enginemodel.CacheGroup.SlidingWindow;
import io.kvasir.enginemodel.CacheGroup.State;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What groups beside the prefix keep, and how far sequences go on from it. */
final class HybridCacheTest {
  private static final int BLOCK = 4;

  private final Log log = new Log();

  @Test
  void window_keepsWhatTheEndOfAPromptNeeds_andNothingOfTheAnswer() {
    Scheduler<TestSequence> scheduler = scheduler(100, 1000, new SlidingWindow(9));
    run(scheduler, sequence(prompt(21), 12));
    assertThat(log.kept(1)).containsExactly(3, 4);

    assertThat(run(scheduler, sequence(prompt(30), 0)).cachedTokens()).isEqualTo(20);
    assertThat(run(scheduler, sequence(prompt(18), 0)).cachedTokens()).as("no window ends there").isZero();
  }

  @Test
  void placeWherePromptsPart_isKeptOnceItWasSeen() {
    Scheduler<TestSequence> scheduler = scheduler(200, 1000, new SlidingWindow(9), new State());
    run(scheduler, sequence(prompt(41), 0));
    TestSequence parting = sequence(parting(20, 41), 0);
    assertThat(run(scheduler, parting).cachedTokens()).isZero();
    assertThat(run(scheduler, sequence(parting(20, 41, 1), 0)).cachedTokens()).isEqualTo(20);
  }

  @Test
  void state_isThereWhereIterationsEnd_soTheyEndAtTheLastBlockOfAPrompt() {
    Scheduler<TestSequence> scheduler = scheduler(100, 10, new State());
    TestSequence first = sequence(prompt(23), 5);
    scheduler.add(first);
    List<Integer> chunks = new ArrayList<>();
    for (EngineStep<TestSequence> step = scheduler.plan(); step.tokens() > 0; step = scheduler.plan()) {
      chunks.add(step.tokens());
      scheduler.complete(step);
    }
    // Of ten tokens that an iteration may compute those up to the end of a block.
    assertThat(chunks).containsExactly(8, 8, 4, 3, 1, 1, 1, 1);
    assertThat(log.kept(1)).containsExactly(4);
    assertThat(run(scheduler, sequence(prompt(23), 0)).cachedTokens()).isEqualTo(20);
    assertThat(run(scheduler, sequence(prompt(20), 0)).cachedTokens()).isZero();
  }

  @Test
  void state_ofTheSameIteration_isWaitedFor() {
    Scheduler<TestSequence> scheduler = scheduler(100, 1000, new State());
    TestSequence first = sequence(prompt(23), 1);
    TestSequence second = sequence(prompt(23), 1);
    scheduler.add(first);
    scheduler.add(second);
    EngineStep<TestSequence> step = scheduler.plan();
    assertThat(step.sequences()).containsExactly(first);
    scheduler.complete(step);
    assertThat(scheduler.plan().sequences()).containsExactly(first, second);
    assertThat(second.cachedTokens()).isEqualTo(20);
  }

  @Test
  void whatIsNotSeenAnyMore_isReleasedWhileTheSequenceRuns() {
    PagedCache cache = PagedCache.ofGroups(100, BLOCK, List.of(new SlidingWindow(9), new State()), true, log);
    Scheduler<TestSequence> scheduler = new Scheduler<>(cache, 8, 8);
    TestSequence sequence = sequence(prompt(40), 40);
    scheduler.add(sequence);
    while (scheduler.running() + scheduler.waiting() > 0) {
      EngineStep<TestSequence> step = scheduler.plan();
      int held = cache.capacity() - cache.free();
      // Its prefix, a window and the chunk of an iteration, and two states: of before and of now.
      assertThat(held).isLessThanOrEqualTo(sequence.blockCount + 2 + 3 + 2);
      scheduler.complete(step);
    }
    assertThat(cache.free()).isEqualTo(100);
  }

  /** Prompts that share beginnings, in a small cache, against what the events say that is held. */
  @Test
  void everythingAtRandom_hitsAreWhatAllGroupsHold_andAllIsFreed() {
    int shortened = 0;
    for (int seed = 0; seed < 200; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      List<CacheGroup> groups = new ArrayList<>();
      for (int i = 0; i <= random.nextInt(3); i++) {
        groups.add(random.nextBoolean() ? new State() : new SlidingWindow(2 + random.nextInt(20)));
      }
      int capacity = random.nextInt(60, 200);
      Log events = new Log();
      PagedCache cache = PagedCache.ofGroups(capacity, BLOCK, groups, random.nextBoolean(), events);
      Scheduler<TestSequence> scheduler = new Scheduler<>(cache, random.nextInt(6, 60), random.nextInt(1, 5));
      for (int i = 0; i < 60; i++) {
        TestSequence next =
            sequence(parting(random.nextInt(6) * BLOCK, 30 + random.nextInt(20), random.nextInt(3)), random.nextInt(9));
        int prefix = events.prefix(next);
        int boundary = events.boundary(next, prefix, groups);
        assertThat(cache.hits(next)).as("seed %d, sequence %d, %s", seed, i, groups).isEqualTo(boundary);
        shortened += boundary < prefix ? 1 : 0;
        scheduler.add(next);
        for (int steps = random.nextInt(8); steps > 0; steps--) {
          scheduler.complete(scheduler.plan());
        }
      }
      for (int steps = 0; steps < 5_000 && scheduler.running() + scheduler.waiting() > 0; steps++) {
        scheduler.complete(scheduler.plan());
      }
      assertThat(scheduler.running() + scheduler.waiting()).as("seed %d", seed).isZero();
      assertThat(cache.free()).as("seed %d", seed).isEqualTo(capacity);
      assertThat(events.copies()).as("seed %d", seed).isLessThanOrEqualTo(capacity);
    }
    assertThat(shortened).isGreaterThan(1_000);
  }

  @Test
  void parse_ofGroups() {
    assertThat(CacheGroup.parse("state")).isEqualTo(new State());
    assertThat(CacheGroup.parse("window=1024")).isEqualTo(new SlidingWindow(1024));
    assertThatThrownBy(() -> CacheGroup.parse("window=1")).hasMessageContaining("at least 2 tokens");
    assertThatThrownBy(() -> CacheGroup.parse("window=wide")).hasMessageContaining("'window=wide'");
    assertThatThrownBy(() -> CacheGroup.parse("mamba")).hasMessageContaining("window=1024 or state");
  }

  private Scheduler<TestSequence> scheduler(int capacity, int budget, CacheGroup... groups) {
    return new Scheduler<>(PagedCache.ofGroups(capacity, BLOCK, List.of(groups), true, log), budget, 8);
  }

  private static TestSequence run(Scheduler<TestSequence> scheduler, TestSequence sequence) {
    scheduler.add(sequence);
    for (int steps = 0; steps < 200 && scheduler.running() + scheduler.waiting() > 0; steps++) {
      scheduler.complete(scheduler.plan());
    }
    return sequence;
  }

  private static TestSequence sequence(int[] prompt, int answer) {
    return new TestSequence(prompt, answer, BLOCK);
  }

  private static int[] prompt(int length) {
    return IntStream.range(0, length).toArray();
  }

  private static int[] parting(int shared, int length) {
    return parting(shared, length, 0);
  }

  /** A prompt that has as many tokens as all others, and then those of its branch. */
  private static int[] parting(int shared, int length, int branch) {
    return IntStream.range(0, length).map(i -> i < shared ? i : i + 1_000 * (branch + 1)).toArray();
  }

  /** By group what the events say that is held. */
  private static final class Log implements GroupListener {
    private final Map<Integer, Map<Long, Integer>> held = new HashMap<>();
    private final Map<Integer, List<Integer>> kept = new HashMap<>();

    @Override
    public void stored(Sequence sequence, int from, int to) {
      store(0, sequence, IntStream.range(from, to).toArray());
    }

    @Override
    public void stored(int group, Sequence sequence, int from, int to, int[] blocks) {
      assertThat(IntStream.of(blocks)).allMatch(block -> block >= from && block < to);
      store(group, sequence, blocks);
    }

    private void store(int group, Sequence sequence, int[] blocks) {
      for (int block : blocks) {
        held.computeIfAbsent(group, _ -> new HashMap<>()).merge(sequence.key(block), 1, Integer::sum);
        kept.computeIfAbsent(group, _ -> new ArrayList<>()).add(block);
      }
    }

    @Override
    public void removed(long key) {
      removed(0, key);
    }

    @Override
    public void removed(int group, long key) {
      Map<Long, Integer> its = held.getOrDefault(group, new HashMap<>());
      assertThat(its).as("only what was stored is removed").containsKey(key);
      its.compute(key, (_, copies) -> copies == null || copies == 1 ? null : copies - 1);
    }

    @Override
    public void cleared() {
      held.clear();
    }

    List<Integer> kept(int group) {
      return kept.getOrDefault(group, List.of());
    }

    int copies() {
      return held.values().stream().flatMap(blocks -> blocks.values().stream()).mapToInt(Integer::intValue).sum();
    }

    private boolean holds(int group, TestSequence sequence, int block) {
      return held.getOrDefault(group, Map.of()).containsKey(sequence.key(block));
    }

    int prefix(TestSequence sequence) {
      int most = (sequence.length() - 1) / BLOCK;
      return (int) IntStream.range(0, most).takeWhile(block -> holds(0, sequence, block)).count();
    }

    int boundary(TestSequence sequence, int prefix, List<CacheGroup> groups) {
      for (int end = prefix; end > 0; end--) {
        int from = end;
        if (IntStream.rangeClosed(1, groups.size())
            .allMatch(group -> goesOn(group, groups.get(group - 1), sequence, from))) {
          return end;
        }
      }
      return 0;
    }

    private boolean goesOn(int group, CacheGroup kind, TestSequence sequence, int end) {
      int first =
          switch (kind) {
            case State() -> end - 1;
            // The first block with a token that the next one sees.
            case SlidingWindow(int window) -> Math.max(0, end * BLOCK - (window - 1)) / BLOCK;
          };
      return IntStream.range(first, end).allMatch(block -> holds(group, sequence, block));
    }
  }
}
