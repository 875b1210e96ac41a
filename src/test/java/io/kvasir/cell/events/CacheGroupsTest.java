package io.kvasir.cell.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.events.CacheGroups.PredictedEnd;
import io.kvasir.events.KvBatch;
import io.kvasir.events.KvEvent;
import io.kvasir.events.KvEvent.Removed;
import io.kvasir.events.KvEvent.Spec;
import io.kvasir.events.KvEvent.Stored;
import io.kvasir.index.BlockHash;
import io.kvasir.index.BlockIndex;
import io.kvasir.index.Chain;
import io.kvasir.index.Tier;
import io.kvasir.index.WorkerBlocks;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** What a hybrid model's engine can go on from, by its events. */
final class CacheGroupsTest {
  private static final int BLOCK = 4;
  private static final long LATER = 1_000;

  private final WorkerBlocks blocks = new BlockIndex(64, 64 << 20).open(0);
  private final EventApplier applier = new EventApplier(blocks, BLOCK);
  private final Chain prompt = new Chain(chain(12), BLOCK);

  private static long[] chain(int length) {
    int[] tokens = IntStream.range(100, 100 + length * BLOCK).toArray();
    long[] hashes = new long[length];
    BlockHash.in(null, null).chain(BlockHash.NONE, tokens, 0, tokens.length, BLOCK, hashes, 0);
    return hashes;
  }

  private static Spec window(int tokens) {
    return new Spec(Spec.Kind.SLIDING_WINDOW, tokens);
  }

  private void apply(KvEvent... events) {
    applier.apply(new KvBatch(applier.state().lastSequence() + 1, 0, KvBatch.UNKNOWN_RANK, List.of(events)), 0);
  }

  /** Stores the prompt's blocks {@code keys}, named from 1 on, of {@code size} tokens, in a group. */
  private static Stored stored(int group, Spec spec, int size, int from, int to) {
    int first = (from - 1) * size;
    return new Stored(
        from == 1, from == 1 ? 0 : (long) (from - 1) * size / BLOCK,
        LongStream.rangeClosed(from, to).map(key -> key * size / BLOCK).toArray(),
        IntStream.range(100 + first, 100 + to * size).toArray(), size, Tier.DEVICE, null, null, group, spec, List.of());
  }

  /** The same as engines tell of some blocks among many: the tokens are those of all. */
  private static Stored sparse(int group, Spec spec, int to, long... keys) {
    return new Stored(
        true, 0, keys, IntStream.range(100, 100 + to * BLOCK).toArray(), BLOCK, Tier.DEVICE, null, null, group, spec,
        List.of());
  }

  private static Removed removed(int group, long... keys) {
    return new Removed(keys, Tier.DEVICE, group);
  }

  private CacheGroups groups() {
    return Objects.requireNonNull(applier.groups(), "no other group has shown itself");
  }

  private int resumable(int depth) {
    return groups().resumable(prompt, depth, depth);
  }

  @Test
  void oneGroup_isNoHybrid() {
    apply(stored(0, Spec.FULL, BLOCK, 1, 12));
    assertThat(applier.groups()).isNull();
    assertThat(applier.position().hybrid()).isFalse();
  }

  @Test
  void slidingWindow_needsTheBlocksThatTheNextTokenSees() {
    // 8 tokens and the next one: two blocks.
    apply(stored(0, Spec.FULL, BLOCK, 1, 12), stored(1, window(9), BLOCK, 1, 12));
    assertThat(applier.position().hybrid()).isTrue();
    assertThat(resumable(12)).isEqualTo(12);
    apply(removed(1, 7));
    assertThat(resumable(12)).isEqualTo(12);
    assertThat(resumable(8)).as("blocks 7 and 8").isEqualTo(6);
    assertThat(resumable(7)).isEqualTo(6);
    apply(removed(1, 12));
    assertThat(resumable(12)).isEqualTo(11);
    apply(removed(1, 1));
    assertThat(resumable(2)).as("not from the middle of the first window").isZero();
    assertThat(resumable(0)).isZero();
  }

  @Test
  void state_needsTheLastBlock_wherePromptsEndWithIt() {
    apply(stored(0, Spec.FULL, BLOCK, 1, 12), stored(1, Spec.STATE, 2 * BLOCK, 1, 6));
    assertThat(resumable(12)).isEqualTo(12);
    assertThat(resumable(11)).isEqualTo(10);
    apply(removed(1, 12));
    assertThat(resumable(12)).isEqualTo(10);
    apply(stored(1, Spec.STATE, BLOCK, 11, 11));
    assertThat(resumable(12)).as("a state within a block").isEqualTo(11);
    assertThat(groups().resumable(prompt, 9, 4)).as("of what is on its way the own blocks").isEqualTo(8);
    apply(removed(1, 2, 4, 6, 8, 10, 11));
    assertThat(resumable(12)).isZero();
  }

  @Test
  void severalGroups_haveToAgree() {
    apply(
        stored(0, Spec.FULL, BLOCK, 1, 12), stored(1, window(9), BLOCK, 1, 12), stored(2, Spec.STATE, BLOCK, 1, 12),
        stored(3, Spec.FULL, BLOCK, 1, 12));
    assertThat(resumable(12)).isEqualTo(12);
    apply(removed(2, 12, 11));
    assertThat(resumable(12)).isEqualTo(10);
    apply(removed(1, 10));
    assertThat(resumable(12)).isEqualTo(9);
    apply(removed(3, 6));
    assertThat(resumable(12)).as("all of another full attention").isEqualTo(5);
  }

  @Test
  void groupBeforeThePrefix_waitsForIt() {
    apply(stored(0, window(9), BLOCK, 1, 12), removed(0, 12), stored(1, Spec.FULL, BLOCK, 1, 12));
    assertThat(resumable(12)).isEqualTo(11);
    apply(removed(0, 11), stored(0, window(9), BLOCK, 12, 12));
    assertThat(resumable(12)).isEqualTo(10);
  }

  @Test
  void everyCopyCounts() {
    apply(stored(0, Spec.FULL, BLOCK, 1, 4), stored(1, window(9), BLOCK, 1, 4), stored(1, window(9), BLOCK, 4, 4));
    apply(removed(1, 4));
    assertThat(resumable(4)).isEqualTo(4);
    apply(removed(1, 4));
    assertThat(resumable(4)).isEqualTo(3);
  }

  /** What an engine repeats without end neither grows a replica's snapshot nor is held for ever. */
  @Test
  void copies_areBounded() {
    apply(stored(0, Spec.FULL, BLOCK, 1, 3));
    for (int i = 0; i < 300; i++) {
      apply(stored(1, Spec.FULL, BLOCK, 1, 1), stored(1, Spec.FULL, BLOCK, 4, 4)); // the fourth waits for its prefix
    }
    assertThat(copiesHeld()).isEqualTo(2 * 255);

    apply(stored(0, Spec.FULL, BLOCK, 4, 4));
    assertThat(copiesHeld()).isEqualTo(2 * 255);
    for (int i = 0; i < 255; i++) {
      apply(removed(1, 1), removed(1, 4));
    }
    assertThat(copiesHeld()).isZero();
  }

  private int copiesHeld() {
    List<Integer> keys = new ArrayList<>();
    groups().forEachHeld(64, change -> {
      if (change instanceof GroupChange.Stored stored) {
        keys.add(stored.keys().length);
      }
    });
    return keys.stream().mapToInt(Integer::intValue).sum();
  }

  @Test
  void whatCannotBeFollowed_doesNotLimit() {
    apply(
        stored(0, Spec.FULL, BLOCK, 1, 12), stored(1, Spec.OTHER, BLOCK, 1, 2),
        stored(2, window(0), BLOCK, 1, 2), stored(3, window(9), BLOCK / 2, 1, 2));
    assertThat(applier.groups()).isNull();
    assertThat(applier.state().ignored().otherGroup()).isEqualTo(3);
    apply(stored(4, Spec.STATE, BLOCK, 1, 12), removed(1, 1), removed(4, 12));
    assertThat(resumable(12)).isEqualTo(11);
    assertThat(applier.state().ignored().otherGroup()).isEqualTo(4);
  }

  @Test
  void clearedAndRestarted_nothingIsKnown() {
    apply(stored(0, Spec.FULL, BLOCK, 1, 12), stored(1, window(9), BLOCK, 1, 12), new KvEvent.Cleared());
    assertThat(applier.groups()).isNull();
  }

  @Test
  void allBlocksKept_promptsOnTheirWay_canBeGoneOnFromAnywhere() {
    apply(stored(0, Spec.FULL, BLOCK, 1, 6), stored(1, window(9), BLOCK, 1, 6));
    assertThat(groups().isSparse()).isFalse();
    assertThat(groups().resumable(prompt, 12, 6)).isEqualTo(12);
    assertThat(groups().confirmed(prompt, 9, 6)).isEqualTo(9);
    apply(removed(1, 6));
    assertThat(groups().resumable(prompt, 7, 6)).as("block 6 is seen from there").isEqualTo(5);
    assertThat(groups().resumable(prompt, 8, 6)).isEqualTo(8);
  }

  @Test
  void someBlocksKept_promptsOnTheirWay_canBeGoneOnFromWhereThatIsPredicted() {
    apply(stored(0, Spec.FULL, BLOCK, 1, 6), sparse(1, window(9), 6, 5, 6));
    assertThat(groups().isSparse()).isTrue();
    assertThat(resumable(6)).isEqualTo(6);
    assertThat(groups().resumable(prompt, 12, 6)).isEqualTo(6);

    PredictedEnd end = groups().predict(prompt, 11, LATER);
    PredictedEnd again = groups().predict(prompt, 11, 2 * LATER);
    assertThat(groups().resumable(prompt, 12, 6)).isEqualTo(11);
    assertThat(groups().resumable(prompt, 10, 6)).isEqualTo(6);
    assertThat(groups().confirmed(prompt, 12, 6)).as("no event has told").isEqualTo(6);

    end.retract();
    end.retract();
    assertThat(groups().resumable(prompt, 12, 6)).as("another request has the same end").isEqualTo(11);
    groups().expire(LATER);
    assertThat(groups().resumable(prompt, 12, 6)).isEqualTo(11);
    groups().expire(2 * LATER);
    assertThat(groups().resumable(prompt, 12, 6)).isEqualTo(6);
    again.retract();
    assertThat(groups().resumable(prompt, 12, 6)).isEqualTo(6);
  }

  /** A window may begin in blocks that are there and end in those of a prompt on its way. */
  @Test
  void predictedBlocks_andHeldOnes_makeAWindowTogether() {
    apply(stored(0, Spec.FULL, BLOCK, 1, 12), sparse(1, window(9), 9, 8, 9));
    PredictedEnd end = groups().predict(prompt, 11, LATER);
    assertThat(groups().resumable(prompt, 10, 12)).as("blocks 9 and 10").isEqualTo(10);
    assertThat(groups().confirmed(prompt, 10, 12)).isEqualTo(9);
    apply(sparse(2, Spec.STATE, 9, 9));
    assertThat(groups().resumable(prompt, 12, 12)).as("a group that shows itself later").isEqualTo(11);
    assertThat(groups().resumable(prompt, 10, 12)).isEqualTo(9);
    end.retract();
    assertThat(groups().resumable(prompt, 12, 12)).isEqualTo(9);
  }

  /** What has come as predicted and is evicted is gone, also before the prediction would have expired. */
  @Test
  void predictionThatCameTrue_isOver() {
    apply(stored(0, Spec.FULL, BLOCK, 1, 12), sparse(1, window(9), 6, 5, 6));
    PredictedEnd end = groups().predict(prompt, 11, LATER);
    PredictedEnd again = groups().predict(prompt, 11, LATER);
    PredictedEnd other = groups().predict(prompt, 8, LATER);
    apply(sparse(1, window(9), 12, 10, 11));
    assertThat(resumable(12)).isEqualTo(11);
    apply(removed(1, 10));
    assertThat(resumable(12)).as("what else is predicted").isEqualTo(8);
    other.retract();
    assertThat(resumable(12)).isEqualTo(6);
    end.retract();
    again.retract();
    assertThat(resumable(12)).isEqualTo(6);
  }

  /** A prediction keeps its prompt, and a client may send very long ones. */
  @Test
  void promptsOfPredictions_areBounded() {
    apply(stored(0, Spec.FULL, BLOCK, 1, 6), sparse(1, window(9), 6, 5, 6));
    PredictedEnd _ = groups().predict(prompt, 11, LATER);
    for (int i = 1; i <= 4; i++) {
      assertThat(groups().resumable(prompt, 12, 6)).isEqualTo(11);
      long[] other = LongStream.range(i * 1_000_000L, i * 1_000_000L + (1 << 18)).toArray();
      PredictedEnd _ = groups().predict(new Chain(other, BLOCK), other.length, LATER);
    }
    assertThat(groups().resumable(prompt, 12, 6)).as("the oldest of too much").isEqualTo(6);
  }

  @Test
  void predictions_areBounded() {
    apply(stored(0, Spec.FULL, BLOCK, 1, 6), sparse(1, window(9), 6, 5, 6));
    CacheGroups groups = groups();
    PredictedEnd _ = groups.predict(prompt, 12, LATER);
    for (int i = 0; i < 4_096; i++) {
      PredictedEnd _ = groups.predict(new Chain(new long[] {1_000_000 + i}, BLOCK), 1, LATER);
    }
    assertThat(groups.resumable(prompt, 12, 6)).as("the oldest of too many").isEqualTo(6);
  }

  /** Any events, against every beginning of the prompt tried one by one. */
  @Test
  void anyEvents_findWhatTheEngineFinds() {
    for (int seed = 0; seed < 300; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      Hybrid engine = new Hybrid(random);
      WorkerBlocks held = new BlockIndex(64, 64 << 20).open(0);
      EventApplier events = new EventApplier(held, BLOCK);
      for (int i = 0; i < 60; i++) {
        events.apply(new KvBatch(i, 0, KvBatch.UNKNOWN_RANK, List.of(engine.event())), 0);
        CacheGroups groups = events.groups();
        int depth = engine.depth();
        assertThat(groups == null ? depth : groups.resumable(new Chain(engine.prompt, BLOCK), depth, depth))
            .as("seed %d, event %d of %s", seed, i, engine.specs)
            .isEqualTo(engine.hit());
      }
    }
  }

  /** An engine that stores and drops blocks of one prompt in any group, in any order. */
  private static final class Hybrid {
    private static final int LENGTH = 24;

    private final SplittableRandom random;
    private final long[] prompt = chain(LENGTH);
    private final List<Spec> specs = new ArrayList<>();
    private final List<Integer> steps = new ArrayList<>();

    /** By group: the ends of the blocks it holds, in blocks of the prefix. */
    private final Map<Integer, Set<Integer>> held = new HashMap<>();

    private final Set<Integer> shown = new HashSet<>();

    Hybrid(SplittableRandom random) {
      this.random = random;
      specs.add(Spec.FULL);
      steps.add(1);
      for (int group = 1; group <= 1 + random.nextInt(3); group++) {
        specs.add(random.nextInt(3) == 0 ? Spec.STATE : window(2 + random.nextInt(40)));
        steps.add(random.nextInt(3) == 0 ? 2 : 1);
      }
    }

    KvEvent event() {
      int group = random.nextInt(specs.size());
      int step = steps.get(group);
      Set<Integer> its = held.computeIfAbsent(group, _ -> new HashSet<>());
      if (random.nextInt(3) > 0 || its.isEmpty()) {
        int from = group == 0 ? 1 : 1 + random.nextInt(LENGTH / step);
        int to = from + random.nextInt(LENGTH / step - from + 1);
        if (group == 0) {
          // A block of the prefix follows one that is there.
          int depth = depth();
          from = Math.min(depth + 1, LENGTH);
          to = from + random.nextInt(LENGTH - from + 1);
        }
        List<Integer> added = IntStream.rangeClosed(from, to).map(i -> i * step).filter(i -> !its.contains(i)).boxed()
            .toList();
        if (!added.isEmpty()) {
          its.addAll(added);
          shown.add(group);
          long[] keys = added.stream().mapToLong(end -> end).toArray();
          return group == 0
              ? stored(0, Spec.FULL, BLOCK, added.getFirst(), added.getLast())
              : new Stored(
                  true, 0, keys, new int[keys.length * step * BLOCK], step * BLOCK, Tier.DEVICE, null, null, group,
                  specs.get(group), List.of());
        }
      }
      int[] ends = its.stream().mapToInt(i -> i).sorted().toArray();
      if (ends.length == 0) {
        return new KvEvent.GapClosed();
      }
      // The prefix loses its end first, as engines evict it.
      int end = group == 0 ? ends[ends.length - 1] : ends[random.nextInt(ends.length)];
      its.remove(end);
      return removed(group, end);
    }

    int depth() {
      Set<Integer> prefix = held.getOrDefault(0, Set.of());
      return (int) IntStream.rangeClosed(1, LENGTH).takeWhile(prefix::contains).count();
    }

    int hit() {
      for (int boundary = depth(); boundary > 0; boundary--) {
        if (agree(boundary)) {
          return boundary;
        }
      }
      return 0;
    }

    private boolean agree(int boundary) {
      for (int group = 1; group < specs.size(); group++) {
        if (shown.contains(group) && !goesOn(group, boundary)) {
          return false;
        }
      }
      return true;
    }

    private boolean goesOn(int group, int boundary) {
      int step = steps.get(group);
      if (boundary % step != 0) {
        return false;
      }
      Spec spec = specs.get(group);
      // Every block with one of the tokens that are seen from there.
      int seen = spec.kind() == Spec.Kind.STATE ? 1 : spec.window() - 1;
      int firstToken = Math.max(0, boundary * BLOCK - seen);
      Set<Integer> its = held.getOrDefault(group, Set.of());
      return IntStream.rangeClosed(1, boundary / step)
          .filter(block -> block * step * BLOCK > firstToken)
          .allMatch(block -> its.contains(block * step));
    }
  }
}
