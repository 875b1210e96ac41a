package io.kvasir.enginemodel;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class PagedCacheTest {
  private static final int BLOCK = 4;

  private final Log log = new Log();

  @Test
  void hits_ofWholePrompt_leaveOneTokenToCompute() {
    PagedCache cache = new PagedCache(8, BLOCK, log);
    finished(cache, prompt(12));

    assertThat(cache.hits(new TestSequence(prompt(12), 0, BLOCK))).isEqualTo(2);
    assertThat(cache.hits(new TestSequence(prompt(13), 0, BLOCK))).isEqualTo(3);
    assertThat(cache.hits(new TestSequence(prompt(4), 0, BLOCK))).isZero();
  }

  @Test
  void release_whileShared_keepsTheBlocksHeld() {
    PagedCache cache = new PagedCache(8, BLOCK, log);
    TestSequence first = admitted(cache, prompt(12));
    TestSequence second = admitted(cache, prompt(12));

    cache.release(first);

    assertThat(cache.references(second.blocks[0])).isEqualTo(1);
    assertThat(cache.free()).isEqualTo(8 - 3);
  }

  @Test
  void eviction_takesTheTailOfTheOldestFirst() {
    PagedCache cache = new PagedCache(4, BLOCK, log);
    TestSequence old = finished(cache, prompt(16));
    log.events.clear();

    admitted(cache, prompt(8, 900));

    assertThat(log.events)
        .containsExactly("removed " + old.key(3), "removed " + old.key(2), "stored 0..2");
    assertThat(cache.hits(new TestSequence(prompt(16), 0, BLOCK))).isEqualTo(2);
  }

  @Test
  void eviction_sparesWhatWasUsedLast() {
    PagedCache cache = new PagedCache(4, BLOCK, log);
    TestSequence older = finished(cache, prompt(8));
    finished(cache, prompt(8, 500));
    finished(cache, prompt(9)); // hits both blocks of the older; its ninth token takes one of the newer's

    admitted(cache, prompt(4, 900));

    assertThat(cache.hits(new TestSequence(prompt(9), 0, BLOCK))).isEqualTo(2);
    assertThat(log.events).doesNotContain("removed " + older.key(0));
  }

  @Test
  void eviction_takesWhatIsNotCachedBeforeWhatIs() {
    PagedCache cache = new PagedCache(4, BLOCK, log);
    finished(cache, prompt(8));
    finished(cache, prompt(3, 500));
    finished(cache, prompt(5, 600)); // its second block, not full, stands first in the queue now

    admitted(cache, prompt(3, 700));

    assertThat(log.events).filteredOn(event -> event.startsWith("removed")).isEmpty();
  }

  @Test
  void admit_withoutRoom_changesNothing() {
    PagedCache cache = new PagedCache(4, BLOCK, log);
    admitted(cache, prompt(12));
    log.events.clear();
    TestSequence large = new TestSequence(prompt(8, 700), 0, BLOCK);

    assertThat(cache.admit(large, 0, 8)).isFalse();

    assertThat(large.blockCount).isZero();
    assertThat(cache.free()).isEqualTo(1);
    assertThat(log.events).isEmpty();
  }

  @Test
  void admit_ofHitsThatAreFree_countsThemAsTaken() {
    PagedCache cache = new PagedCache(4, BLOCK, log);
    finished(cache, prompt(8));
    admitted(cache, prompt(4, 700)); // 3 free, 2 of them cached
    TestSequence longer = new TestSequence(prompt(16), 0, BLOCK);

    assertThat(cache.admit(longer, cache.hits(longer), 16)).isFalse();
    assertThat(cache.admit(longer, cache.hits(longer), 12)).isTrue();
    assertThat(cache.free()).isZero();
  }

  @Test
  void equalBlocks_computedTwice_areStoredAndRemovedTwice() {
    PagedCache cache = new PagedCache(4, BLOCK, log);
    TestSequence one = new TestSequence(prompt(4), 0, BLOCK);
    TestSequence two = new TestSequence(prompt(4), 0, BLOCK);
    cache.admit(one, 0, 4);
    cache.admit(two, 0, 4);
    cache.release(one);
    cache.release(two);

    admitted(cache, prompt(12, 700));
    assertThat(cache.hits(new TestSequence(prompt(5), 0, BLOCK))).isEqualTo(1);
    admitted(cache, prompt(4, 800));

    assertThat(log.events.stream().filter(event -> event.equals("removed " + one.key(0)))).hasSize(2);
    assertThat(cache.hits(new TestSequence(prompt(5), 0, BLOCK))).isZero();
  }

  @Test
  void clear_whileHeld_isRefused() {
    PagedCache cache = new PagedCache(4, BLOCK, log);
    TestSequence held = admitted(cache, prompt(8));

    assertThat(cache.clear()).isFalse();
    cache.release(held);
    assertThat(cache.clear()).isTrue();

    assertThat(cache.hits(new TestSequence(prompt(9), 0, BLOCK))).isZero();
    assertThat(log.events.getLast()).isEqualTo("cleared");
  }

  /** Random admissions, growth, releases and clears against a model made of collections. */
  @Test
  void everything_atRandom_agreesWithTheNaiveModel() {
    for (int seed = 0; seed < 40; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      int capacity = random.nextInt(3, 40);
      Naive naive = new Naive(capacity);
      PagedCache cache = new PagedCache(capacity, BLOCK, naive);
      List<TestSequence> live = new ArrayList<>();
      for (int step = 0; step < 600; step++) {
        String where = "seed " + seed + " step " + step;
        switch (random.nextInt(10)) {
          case 0, 1, 2, 3 -> {
            TestSequence sequence =
                new TestSequence(prompt(random.nextInt(1, 30), random.nextInt(3) * 1000), 12, BLOCK);
            int hits = cache.hits(sequence);
            assertThat(hits).as(where).isEqualTo(naive.hits(sequence));
            assertThat(hits * BLOCK).as(where).isLessThan(sequence.length());
            int tokens = random.nextInt(hits * BLOCK + 1, sequence.length() + 1);
            boolean certain = naive.fits(naive.maxBlocks(sequence, hits, tokens));
            boolean possible = naive.fits(naive.minBlocks(sequence, hits, tokens));
            boolean fits = cache.admit(sequence, hits, tokens);
            assertThat(fits).as(where).isIn(certain, possible);
            if (fits) {
              sequence.admitted(tokens);
              live.add(sequence);
            }
          }
          case 4, 5, 6 -> {
            if (!live.isEmpty()) {
              TestSequence sequence = live.get(random.nextInt(live.size()));
              if (sequence.computed == sequence.length() && sequence.sampled() < 11) {
                sequence.sample();
              }
              int tokens = random.nextInt(sequence.computed, sequence.length() + 1);
              boolean possible = naive.fits((tokens + BLOCK - 1) / BLOCK - sequence.blockCount);
              boolean fits = cache.extend(sequence, tokens);
              assertThat(fits).as(where).isEqualTo(possible);
              if (fits) {
                sequence.computed = tokens;
              }
            }
          }
          case 7, 8 -> {
            if (!live.isEmpty()) {
              TestSequence sequence = live.remove(random.nextInt(live.size()));
              cache.release(sequence);
            }
          }
          default -> assertThat(cache.clear()).as(where).isEqualTo(live.isEmpty());
        }
        naive.agrees(cache, live, where);
      }
    }
  }

  private TestSequence admitted(PagedCache cache, int[] prompt) {
    TestSequence sequence = new TestSequence(prompt, 0, BLOCK);
    assertThat(cache.admit(sequence, cache.hits(sequence), prompt.length)).isTrue();
    return sequence;
  }

  private TestSequence finished(PagedCache cache, int[] prompt) {
    TestSequence sequence = admitted(cache, prompt);
    cache.release(sequence);
    return sequence;
  }

  private static int[] prompt(int length) {
    return prompt(length, 0);
  }

  private static int[] prompt(int length, int first) {
    return IntStream.range(first, first + length).toArray();
  }

  /** What the cache says, line by line. */
  private static final class Log implements CacheListener {
    final List<String> events = new ArrayList<>();

    @Override
    public void stored(Sequence sequence, int from, int to) {
      events.add("stored " + from + ".." + to);
    }

    @Override
    public void removed(long key) {
      events.add("removed " + key);
    }

    @Override
    public void cleared() {
      events.add("cleared");
    }
  }

  /** What must be so, told only by the cache's events and by who holds what. */
  private static final class Naive implements CacheListener {
    private final int capacity;
    private final Map<Long, Integer> copies = new HashMap<>();
    private Set<Integer> holding = new HashSet<>();
    private Map<Long, Set<Integer>> heldByKey = new HashMap<>();

    Naive(int capacity) {
      this.capacity = capacity;
    }

    @Override
    public void stored(Sequence sequence, int from, int to) {
      for (int i = from; i < to; i++) {
        copies.merge(((TestSequence) sequence).key(i), 1, Integer::sum);
      }
    }

    @Override
    public void removed(long key) {
      Integer before = copies.get(key);
      assertThat(before).as("only what was stored is removed").isNotNull().isPositive();
      copies.compute(key, (k, count) -> count == null || count == 1 ? null : count - 1);
    }

    @Override
    public void cleared() {
      copies.clear();
    }

    int hits(TestSequence sequence) {
      int hits = 0;
      while ((hits + 1) * BLOCK < sequence.length() && copies.containsKey(sequence.key(hits))) {
        hits++;
      }
      return hits;
    }

    private Set<Integer> held(List<TestSequence> live) {
      Set<Integer> held = new HashSet<>();
      for (TestSequence sequence : live) {
        for (int i = 0; i < sequence.blockCount; i++) {
          held.add(sequence.blocks[i]);
        }
      }
      return held;
    }

    /** Whether as many blocks are free as are {@code wanted}. */
    boolean fits(int wanted) {
      return wanted <= capacity - holding.size();
    }

    /** Free blocks an admission takes at least: a hit that a sequence holds costs nothing. */
    int minBlocks(TestSequence sequence, int hits, int tokens) {
      return wanted(sequence, hits, tokens, false);
    }

    /** Free blocks it takes at most: of several copies the one that is shared may be a free one. */
    int maxBlocks(TestSequence sequence, int hits, int tokens) {
      return wanted(sequence, hits, tokens, true);
    }

    private int wanted(TestSequence sequence, int hits, int tokens, boolean freeCopyFirst) {
      int idle = 0;
      for (int i = 0; i < hits; i++) {
        int held = heldByKey.getOrDefault(sequence.key(i), Set.of()).size();
        boolean hasFree = copies.getOrDefault(sequence.key(i), 0) > held;
        idle += held == 0 || (freeCopyFirst && hasFree) ? 1 : 0;
      }
      return (tokens + BLOCK - 1) / BLOCK - hits + idle;
    }

    void agrees(PagedCache cache, List<TestSequence> live, String where) {
      holding = held(live);
      heldByKey = new HashMap<>();
      Map<Integer, Integer> references = new HashMap<>();
      for (TestSequence sequence : live) {
        for (int i = 0; i < sequence.blockCount; i++) {
          references.merge(sequence.blocks[i], 1, Integer::sum);
          if (i < sequence.keyed) {
            heldByKey.computeIfAbsent(sequence.key(i), k -> new HashSet<>()).add(sequence.blocks[i]);
          }
        }
        assertThat(sequence.blockCount).as(where).isEqualTo((sequence.computed + BLOCK - 1) / BLOCK);
        assertThat(sequence.keyed).as(where).isEqualTo(sequence.computed / BLOCK);
      }
      assertThat(cache.free()).as(where).isEqualTo(capacity - holding.size());
      for (int block = 0; block < capacity; block++) {
        assertThat(cache.references(block)).as(where).isEqualTo(references.getOrDefault(block, 0));
      }
      assertThat(copies.values().stream().mapToInt(Integer::intValue).sum()).as(where).isLessThanOrEqualTo(capacity);
      heldByKey.forEach((key, blocks) ->
          assertThat(copies.getOrDefault(key, 0)).as(where).isGreaterThanOrEqualTo(blocks.size()));
    }
  }
}
