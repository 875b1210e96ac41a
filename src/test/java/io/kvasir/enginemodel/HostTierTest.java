package io.kvasir.enginemodel;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class HostTierTest {
  private static final int BLOCK = 4;
  private static final int BLOCKS_PER_CHUNK = 2;
  private static final int CHUNK = BLOCK * BLOCKS_PER_CHUNK;

  private final Log log = new Log();

  @Test
  void copy_keepsFullChunksOnly() {
    HostTier tier = new HostTier(8, BLOCKS_PER_CHUNK, log);

    tier.copy(prompt(3 * CHUNK, 0), 5);

    assertThat(log.copied).containsExactly("0..8", "8..16");
    assertThat(tier.hits(prompt(3 * CHUNK, 0), BLOCK)).isEqualTo(2 * BLOCKS_PER_CHUNK);
    assertThat(tier.hits(prompt(CHUNK, 0), BLOCK)).isEqualTo(BLOCKS_PER_CHUNK);
    assertThat(tier.hits(prompt(CHUNK - 1, 0), BLOCK)).isZero();
  }

  @Test
  void copy_ofWhatIsThere_tellsNothing() {
    HostTier tier = new HostTier(8, BLOCKS_PER_CHUNK, log);
    tier.copy(prompt(2 * CHUNK, 0), 4);
    log.copied.clear();

    tier.copy(prompt(3 * CHUNK, 0), 6);

    assertThat(log.copied).containsExactly("16..24");
  }

  @Test
  void room_isMadeByTheTailOfWhatWasUsedLongestAgo() {
    HostTier tier = new HostTier(4, BLOCKS_PER_CHUNK, log);
    tier.copy(prompt(2 * CHUNK, 0), 4);
    tier.copy(prompt(2 * CHUNK, 500), 4);
    tier.hits(prompt(2 * CHUNK, 0), BLOCK);

    tier.copy(prompt(CHUNK, 900), 2);

    assertThat(log.dropped).containsExactly(prompt(2 * CHUNK, 500).key(3));
    assertThat(tier.hits(prompt(2 * CHUNK, 500), BLOCK)).isEqualTo(BLOCKS_PER_CHUNK);
    assertThat(tier.hits(prompt(2 * CHUNK, 0), BLOCK)).isEqualTo(2 * BLOCKS_PER_CHUNK);
  }

  @Test
  void promptLargerThanTheTier_keepsItsBeginning() {
    HostTier tier = new HostTier(2, BLOCKS_PER_CHUNK, log);

    tier.copy(prompt(5 * CHUNK, 0), 10);

    assertThat(tier.hits(prompt(5 * CHUNK, 0), BLOCK)).isEqualTo(2 * BLOCKS_PER_CHUNK);
    assertThat(log.dropped).isEmpty();
  }

  @Test
  void anyPrompts_asTheNaiveModel() {
    for (int seed = 0; seed < 30; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      Log heard = new Log();
      HostTier tier = new HostTier(6, BLOCKS_PER_CHUNK, heard);
      Naive naive = new Naive(6);
      for (int i = 0; i < 400; i++) {
        TestSequence sequence = sequence(random);
        if (random.nextBoolean()) {
          int blocks = random.nextInt(sequence.length() / BLOCK + 1);
          tier.copy(sequence, blocks);
          naive.copy(sequence, blocks);
        } else {
          assertThat(tier.hits(sequence, BLOCK)).isEqualTo(naive.hits(sequence));
        }
        assertThat(heard.held).containsExactlyInAnyOrderElementsOf(naive.eldestFirst);
        assertThat(tier.size()).isEqualTo(naive.eldestFirst.size());
      }
    }
  }

  @Test
  void scheduler_loadsWhatTheDeviceForgot() {
    HostTier tier = new HostTier(64, BLOCKS_PER_CHUNK, log);
    Scheduler<TestSequence> scheduler = scheduler(8, tier);
    run(scheduler, prompt(24, 0));
    run(scheduler, prompt(30, 500)); // takes every block of the device

    TestSequence again = prompt(26, 0);
    scheduler.add(again);
    EngineStep<TestSequence> step = scheduler.plan();

    assertThat(again.cachedTokens()).isEqualTo(24);
    assertThat(step.loadedTokens()).isEqualTo(24);
    assertThat(step.tokens()).isEqualTo(2);
    assertThat(scheduler.hostHitTokens()).isEqualTo(24);
    assertThat(scheduler.hitTokens()).isZero();
    assertThat(HostLink.of(8, 1000, 0.5).millis(step)).isEqualTo(0.5 + 24 * 1e-3);
  }

  @Test
  void scheduler_loadsOnlyWhatTheDeviceHasNot() {
    HostTier tier = new HostTier(64, BLOCKS_PER_CHUNK, log);
    Scheduler<TestSequence> scheduler = scheduler(8, tier);
    run(scheduler, prompt(24, 0));
    run(scheduler, prompt(12, 500)); // takes two free blocks and the last one of the first prompt

    TestSequence again = prompt(26, 0);
    scheduler.add(again);
    EngineStep<TestSequence> step = scheduler.plan();

    assertThat(scheduler.hitTokens()).isEqualTo(20);
    assertThat(step.loadedTokens()).isEqualTo(4);
    assertThat(again.cachedTokens()).isEqualTo(24);
  }

  @Test
  void scheduler_leavesOneTokenToCompute() {
    Scheduler<TestSequence> scheduler = scheduler(8, new HostTier(64, BLOCKS_PER_CHUNK, log));
    run(scheduler, prompt(24, 0));
    run(scheduler, prompt(30, 500));

    TestSequence again = prompt(24, 0);
    scheduler.add(again);

    assertThat(scheduler.plan().tokens()).isEqualTo(BLOCK);
    assertThat(again.cachedTokens()).isEqualTo(20);
  }

  @Test
  void scheduler_copiesPromptsAndNotAnswers() {
    Scheduler<TestSequence> scheduler = scheduler(64, new HostTier(64, BLOCKS_PER_CHUNK, log));

    run(scheduler, new TestSequence(IntStream.range(0, 12).toArray(), 40, BLOCK));

    assertThat(log.copied).containsExactly("0..8");
  }

  @Test
  void step_thatLoadsNothing_waitsForNothing() {
    Scheduler<TestSequence> scheduler = scheduler(8, new HostTier(64, BLOCKS_PER_CHUNK, log));
    scheduler.add(prompt(12, 0));

    assertThat(HostLink.of(8, 1000, 0.5).millis(scheduler.plan())).isZero();
  }

  private static Scheduler<TestSequence> scheduler(int blocks, HostTier tier) {
    return new Scheduler<>(new PagedCache(blocks, BLOCK, SchedulerTest.DEAF), tier, 1000, 8);
  }

  private static void run(Scheduler<TestSequence> scheduler, TestSequence sequence) {
    scheduler.add(sequence);
    for (EngineStep<TestSequence> step = scheduler.plan(); !step.sequences().isEmpty(); step = scheduler.plan()) {
      scheduler.complete(step);
    }
  }

  private static TestSequence prompt(int length, int from) {
    return new TestSequence(IntStream.range(from, from + length).toArray(), 0, BLOCK);
  }

  /** One of three beginnings, one of three ends. */
  private static TestSequence sequence(SplittableRandom random) {
    int shared = random.nextInt(4) * CHUNK;
    int beginning = 1000 * random.nextInt(3);
    int end = 10_000 * (1 + random.nextInt(3));
    int length = shared + 1 + random.nextInt(3 * CHUNK);
    return new TestSequence(
        IntStream.range(0, length).map(i -> i < shared ? beginning + i : end + i).toArray(), 0, BLOCK);
  }

  private static final class Log implements HostTier.Listener {
    private final List<String> copied = new ArrayList<>();
    private final List<Long> dropped = new ArrayList<>();
    private final List<Long> held = new ArrayList<>();

    @Override
    public void copied(Sequence sequence, int chunk, long key) {
      assertThat(key).isEqualTo(sequence.key((chunk + 1) * BLOCKS_PER_CHUNK - 1));
      copied.add(chunk * CHUNK + ".." + (chunk + 1) * CHUNK);
      held.add(key);
    }

    @Override
    public void dropped(long key) {
      assertThat(held.remove(key)).isTrue();
      dropped.add(key);
    }
  }

  /** A list of keys, eldest first. */
  private record Naive(int capacity, List<Long> eldestFirst) {
    Naive(int capacity) {
      this(capacity, new ArrayList<>());
    }

    int hits(TestSequence sequence) {
      List<Long> found = new ArrayList<>();
      for (long key : keys(sequence, sequence.length() / CHUNK)) {
        if (!eldestFirst.contains(key)) {
          break;
        }
        found.add(key);
      }
      renew(found);
      return found.size() * BLOCKS_PER_CHUNK;
    }

    void copy(TestSequence sequence, int blocks) {
      List<Long> keys = keys(sequence, Math.min(capacity, blocks / BLOCKS_PER_CHUNK));
      eldestFirst.removeAll(keys);
      while (eldestFirst.size() > capacity - keys.size()) {
        eldestFirst.removeFirst();
      }
      eldestFirst.addAll(keys.reversed());
    }

    private void renew(List<Long> keys) {
      eldestFirst.removeAll(keys);
      eldestFirst.addAll(keys.reversed());
    }

    private static List<Long> keys(TestSequence sequence, int chunks) {
      return IntStream.range(0, chunks)
          .mapToObj(chunk -> sequence.key((chunk + 1) * BLOCKS_PER_CHUNK - 1))
          .toList();
    }
  }
}
