package io.kvasir.cell.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.events.KvBatch;
import io.kvasir.events.KvEvent;
import io.kvasir.events.KvEvent.Lookahead;
import io.kvasir.events.KvEvent.Removed;
import io.kvasir.events.KvEvent.Spec;
import io.kvasir.events.KvEvent.Stored;
import io.kvasir.index.BlockHash;
import io.kvasir.index.BlockIndex;
import io.kvasir.index.Chain;
import io.kvasir.index.Tier;
import io.kvasir.index.WorkerBlocks;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What an engine that shares blocks only among prompts that go on alike finds, by its events. */
final class LookaheadTest {
  private final BlockIndex index = new BlockIndex(64, 64 << 20);
  private final WorkerBlocks blocks = index.open(0);
  private long sequence;

  private int found(EventApplier applier, int[] prompt, int blockSize) {
    Chain chain = Chain.of(BlockHash.in(null, null), prompt, blockSize);
    int[] depths = new int[64];
    int depth = index.search(chain, new long[] {1}, depths);
    CacheGroups groups = applier.groups();
    return groups == null ? depth : groups.resumable(chain, depth, depth);
  }

  private void apply(EventApplier applier, KvEvent... events) {
    applier.apply(new KvBatch(sequence++, 0, KvBatch.UNKNOWN_RANK, List.of(events)), 0);
  }

  /** Two prompts part where a block ends: the engine has that block for each of them. */
  @ParameterizedTest
  @CsvSource({"1, 2, 2", "2, 2, 1"})
  void promptsThatPartWhereABlockEnds(int least, int ofTheSame, int ofOneShorter) {
    EventApplier applier = new EventApplier(blocks, 4);
    int[] prompt = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    apply(applier, new Stored(
        true, 0, new long[] {11, 12}, Arrays.copyOf(prompt, 8), 4, Tier.DEVICE, null, null, KvEvent.UNSPECIFIED,
        Spec.UNSPECIFIED, List.of(), false, new Lookahead(new int[] {5, 9}, least)));
    assertThat(found(applier, prompt, 4)).isEqualTo(ofTheSame);
    assertThat(found(applier, Arrays.copyOf(prompt, 9), 4)).as("a token after them").isEqualTo(ofOneShorter);
    assertThat(found(applier, Arrays.copyOf(prompt, 8), 4)).as("none after them").isEqualTo(1);
    assertThat(found(applier, new int[] {1, 2, 3, 4, 5, 6, 7, 8, 99, 10}, 4)).isEqualTo(1);
    assertThat(found(applier, new int[] {1, 2, 3, 4, 99, 6, 7, 8, 9, 10}, 4)).isZero();

    // The second prompt's own copy of the second block, and then the loss of the first one's.
    apply(applier, new Stored(
        false, 11, new long[] {22}, new int[] {5, 6, 7, 8}, 4, Tier.DEVICE, null, null, KvEvent.UNSPECIFIED,
        Spec.UNSPECIFIED, List.of(), false, new Lookahead(new int[] {99}, least)));
    assertThat(found(applier, new int[] {1, 2, 3, 4, 5, 6, 7, 8, 99, 10}, 4)).isEqualTo(2);
    apply(applier, new Removed(new long[] {12}, Tier.DEVICE, KvEvent.UNSPECIFIED));
    assertThat(found(applier, prompt, 4)).isEqualTo(1);
    assertThat(found(applier, new int[] {1, 2, 3, 4, 5, 6, 7, 8, 99, 10}, 4)).isEqualTo(2);
    assertThat(Objects.requireNonNull(applier.groups()).isHybrid()).isFalse();
  }

  /** A chain of which nothing is known but its hashes, as from a node of an earlier version, is believed. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void unknownLookahead_countsAsTheSame(int least) {
    EventApplier applier = new EventApplier(blocks, 2);
    apply(applier, new Stored(
        true, 0, new long[] {11}, new int[] {1, 2}, 2, Tier.DEVICE, null, null, KvEvent.UNSPECIFIED, Spec.UNSPECIFIED,
        List.of(), false, new Lookahead(new int[] {3}, least)));
    Chain chain = new Chain(Chain.of(BlockHash.in(null, null), new int[] {1, 2, 7, 8}, 2).hashes(), 2);
    assertThat(Objects.requireNonNull(applier.groups()).resumable(chain, 1, 1)).isEqualTo(1);
  }

  /** Any prompts and evictions, against an engine that looks up its own keys. */
  @ParameterizedTest
  @CsvSource({"1, 1", "4, 1", "1, 2", "4, 2"})
  void anyPrompts_findWhatTheEngineFinds(int blockSize, int least) {
    for (int seed = 0; seed < 40; seed++) {
      BlockIndex own = new BlockIndex(64, 64 << 20);
      EventApplier applier = new EventApplier(own.open(0), blockSize);
      SplittableRandom random = new SplittableRandom(seed);
      Engine engine = new Engine(blockSize, least);
      for (int i = 0; i < 60; i++) {
        int[] prompt = random.ints(random.nextInt(1, 5 * blockSize + 3), 0, 2).toArray();
        Chain chain = Chain.of(BlockHash.in(null, null), prompt, blockSize);
        int depth = own.search(chain, new long[] {1}, new int[64]);
        CacheGroups groups = applier.groups();
        assertThat(groups == null ? depth : groups.resumable(chain, depth, depth))
            .as("seed %d, prompt %d", seed, i)
            .isEqualTo(engine.hit(prompt));
        List<KvEvent> events = random.nextInt(3) == 0 ? engine.evict(random) : engine.store(prompt);
        applier.apply(new KvBatch(i, 0, KvBatch.UNKNOWN_RANK, events), 0);
      }
    }
  }

  /** The same of hybrid models, whose states and windows are shared only among prompts that go on alike, too. */
  @ParameterizedTest
  @CsvSource({"STATE, 0, 1", "STATE, 0, 3", "SLIDING_WINDOW, 4, 2", "SLIDING_WINDOW, 9, 3"})
  void anyPromptsOfHybridModels_findWhatTheEngineFinds(Spec.Kind kind, int window, int blockSize) {
    int found = 0;
    for (int seed = 0; seed < 60; seed++) {
      BlockIndex own = new BlockIndex(64, 64 << 20);
      EventApplier applier = new EventApplier(own.open(0), blockSize);
      SplittableRandom random = new SplittableRandom(seed);
      HybridEngine engine = new HybridEngine(new Spec(kind, window), blockSize);
      for (int i = 0; i < 60; i++) {
        int[] prompt = random.ints(random.nextInt(1, 5 * blockSize + 3), 0, 2).toArray();
        Chain chain = Chain.of(BlockHash.in(null, null), prompt, blockSize);
        int depth = own.search(chain, new long[] {1}, new int[64]);
        CacheGroups groups = applier.groups();
        int hit = engine.hit(prompt);
        assertThat(groups == null ? depth : groups.resumable(chain, depth, depth))
            .as("seed %d, prompt %d", seed, i)
            .isEqualTo(hit);
        found += hit;
        List<KvEvent> events = random.nextInt(3) == 0 ? engine.evict(random) : engine.store(prompt, random);
        applier.apply(new KvBatch(i, 0, KvBatch.UNKNOWN_RANK, events), 0);
      }
    }
    assertThat(found).isGreaterThan(500);
  }

  /** Has a second group, whose blocks have the keys of the first one's that end where they do, and go on their own. */
  private static final class HybridEngine {
    private static final int SECOND = 1;

    private final Spec spec;
    private final int blockSize;
    private final Engine full;
    private final Map<List<Integer>, Long> second = new HashMap<>();

    HybridEngine(Spec spec, int blockSize) {
      this.spec = spec;
      this.blockSize = blockSize;
      this.full = new Engine(blockSize, 1);
    }

    private int needed() {
      return spec.kind() == Spec.Kind.STATE ? 1 : Math.max(1, Math.ceilDiv(spec.window() - 1, blockSize));
    }

    int hit(int[] prompt) {
      int end = full.hit(prompt);
      while (end > 0 && !goesOnFrom(prompt, end)) {
        end--;
      }
      return end;
    }

    private boolean goesOnFrom(int[] prompt, int end) {
      boolean held = true;
      for (int block = Math.max(0, end - needed()); block < end; block++) {
        held &= second.containsKey(full.name(prompt, block));
      }
      return held;
    }

    /** Which group's blocks are told first is as it happens; of states the last one and some others are kept. */
    List<KvEvent> store(int[] prompt, SplittableRandom random) {
      List<KvEvent> events = new ArrayList<>();
      for (KvEvent event : full.store(prompt)) {
        Stored stored = (Stored) event;
        events.add(inGroup(stored, stored.keys()[0], stored.tokens(), stored.lookahead(), 0, Spec.FULL));
      }
      int blocks = (prompt.length - 1) / blockSize;
      for (int block = 0; block < blocks; block++) {
        List<Integer> name = full.name(prompt, block);
        boolean kept = spec.kind() != Spec.Kind.STATE || block == blocks - 1 || random.nextInt(4) == 0;
        if (kept && !second.containsKey(name)) {
          long key = Objects.requireNonNull(full.keys.get(name));
          second.put(name, key);
          Stored stored =
              inGroup(
                  null, key, Arrays.copyOf(prompt, (block + 1) * blockSize),
                  new Lookahead(new int[] {prompt[(block + 1) * blockSize]}, 1), SECOND, spec);
          events.add(random.nextInt(events.size() + 1), stored);
        }
      }
      return events;
    }

    private Stored inGroup(
        @Nullable Stored of, long key, int[] tokens, Lookahead lookahead, int group, Spec spec) {
      return new Stored(
          of == null || of.root(), of == null ? 0 : of.parentKey(), new long[] {key}, tokens, blockSize, Tier.DEVICE,
          null, null, group, spec, List.of(), false, lookahead);
    }

    List<KvEvent> evict(SplittableRandom random) {
      if (second.isEmpty() || random.nextBoolean()) {
        return full.evict(random).stream()
            .<KvEvent>map(event -> new Removed(((Removed) event).keys(), Tier.DEVICE, 0))
            .toList();
      }
      List<List<Integer>> names =
          second.keySet().stream().sorted((a, b) -> a.toString().compareTo(b.toString())).toList();
      long key = Objects.requireNonNull(second.remove(names.get(random.nextInt(names.size()))));
      return List.of(new Removed(new long[] {key}, Tier.DEVICE, SECOND));
    }
  }

  /** Keeps the blocks of prompts by everything before them and the token after them. */
  private static final class Engine {
    private final int blockSize;
    private final int least;
    private final Map<List<Integer>, Long> keys = new HashMap<>();
    private long lastKey;

    Engine(int blockSize, int least) {
      this.blockSize = blockSize;
      this.least = least;
    }

    private List<Integer> name(int[] prompt, int block) {
      return Arrays.stream(prompt).limit((block + 1L) * blockSize + 1).boxed().toList();
    }

    int hit(int[] prompt) {
      int hit = 0;
      while ((hit + 1) * blockSize + least <= prompt.length && keys.containsKey(name(prompt, hit))) {
        hit++;
      }
      return hit;
    }

    List<KvEvent> store(int[] prompt) {
      List<KvEvent> events = new ArrayList<>();
      for (int block = 0; (block + 1) * blockSize < prompt.length; block++) {
        List<Integer> name = name(prompt, block);
        if (!keys.containsKey(name)) {
          keys.put(name, ++lastKey);
          long parent = block == 0 ? 0 : Objects.requireNonNull(keys.get(name(prompt, block - 1)));
          events.add(new Stored(
              block == 0, parent, new long[] {lastKey},
              Arrays.copyOfRange(prompt, block * blockSize, (block + 1) * blockSize), blockSize, Tier.DEVICE, null,
              null, KvEvent.UNSPECIFIED, Spec.UNSPECIFIED, List.of(), false,
              new Lookahead(new int[] {prompt[(block + 1) * blockSize]}, least)));
        }
      }
      return events;
    }

    /** Engines evict what has no children. */
    List<KvEvent> evict(SplittableRandom random) {
      List<List<Integer>> leaves =
          keys.keySet().stream()
              .filter(name -> keys.keySet().stream().noneMatch(other -> isChild(name, other)))
              .sorted((a, b) -> a.toString().compareTo(b.toString()))
              .toList();
      if (leaves.isEmpty()) {
        return List.of();
      }
      long key = Objects.requireNonNull(keys.remove(leaves.get(random.nextInt(leaves.size()))));
      return List.of(new Removed(new long[] {key}, Tier.DEVICE, KvEvent.UNSPECIFIED));
    }

    private static boolean isChild(List<Integer> name, List<Integer> other) {
      return other.size() > name.size() && other.subList(0, name.size()).equals(name);
    }
  }
}
