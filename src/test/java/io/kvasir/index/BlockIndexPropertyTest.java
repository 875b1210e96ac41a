package io.kvasir.index;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.IntConsumer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Random interleavings of all operations of an index, on chains that share prefixes and branch
 * often, against nested maps.
 */
final class BlockIndexPropertyTest {
  private static final int CHAINS = 60;
  private static final int WORKERS = 7;
  private static final Tier[] TIERS = Tier.values();

  private final List<long[]> chains = new ArrayList<>();
  private final Oracle oracle = new Oracle();
  private SplittableRandom random = new SplittableRandom();
  private BlockIndex index = new BlockIndex(64, 1 << 20);
  private WorkerBlocks[] handles = new WorkerBlocks[0];
  private int[] slotOf = new int[0];

  /** Stores and removals as an LRU cache makes them: leaves go first, so holders are nested and a search is exact. */
  @ParameterizedTest
  @CsvSource({"64,1", "64,2", "64,3", "128,4", "128,5", "256,6", "256,7", "256,8"})
  void search_isExactWithoutHoles(int slots, long seed) {
    start(slots, seed);
    for (int step = 0; step < 1200; step++) {
      if (random.nextInt(300) == 0) {
        widen(this::nestedStep);
      } else if (random.nextInt(20) == 0) {
        lifecycle(random.nextInt(WORKERS));
      } else {
        nestedStep(random.nextInt(WORKERS));
      }
      if (step % 3 == 0) {
        check(true);
      }
    }
  }

  private void nestedStep(int worker) {
    long[] chain = chains.get(random.nextInt(CHAINS));
    if (random.nextInt(20) < 9) {
      int held = Oracle.depth(oracle.held(slotOf[worker]), chain);
      int from = random.nextInt(Math.min(held, chain.length - 1) + 1);
      int count = 1 + random.nextInt(chain.length - from);
      store(worker, chain, from, count, hash -> hash * 31, Tier.DEVICE);
    } else {
      removeLeaves(worker, chain);
    }
  }

  /** Anything goes: holes, several keys for one block, keys that change their block, tiers, copies. */
  @ParameterizedTest
  @CsvSource({"64,11", "64,12", "64,13", "64,14", "128,15", "256,16", "256,17", "256,18"})
  void index_isAsNestedMaps(int slots, long seed) {
    start(slots, seed);
    for (int step = 0; step < 1200; step++) {
      if (random.nextInt(300) == 0) {
        widen(this::anyStep);
      } else if (random.nextInt(40) == 0) {
        lifecycle(random.nextInt(WORKERS));
      } else {
        anyStep(random.nextInt(WORKERS));
      }
      if (step % 4 == 0) {
        check(false);
      }
    }
  }

  private void anyStep(int worker) {
    int slot = slotOf[worker];
    long[] chain = chains.get(random.nextInt(CHAINS));
    Tier tier = TIERS[random.nextInt(random.nextInt(1, 5))];
    boolean counted = random.nextInt(4) != 0;
    switch (random.nextInt(1, 40)) {
      case 1 -> {
        handles[worker].clear(tier);
        if (oracle.isAlive(slot)) {
          oracle.clear(slot, tier);
        }
      }
      case 2 -> {
        if (random.nextInt(4) == 0) {
          handles[worker].clear();
          if (oracle.isAlive(slot)) {
            oracle.clear(slot);
          }
        }
      }
      case 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14 -> {
        int from = random.nextInt(chain.length);
        int salt = random.nextInt(3);
        store(worker, chain, from, 1 + random.nextInt(chain.length - from), hash -> hash + salt, tier);
      }
      case 15 -> {
        int from = random.nextInt(chain.length);
        store(worker, chain, from, 1 + random.nextInt(Math.min(6, chain.length - from)), hash -> hash % 7, tier);
      }
      default -> removeSome(worker, chain, tier, counted);
    }
  }

  private void removeSome(int worker, long[] chain, Tier tier, boolean counted) {
    int slot = slotOf[worker];
    int count = 1 + random.nextInt(10);
    long[] keys = new long[count];
    long salt = random.nextInt(3);
    int at = random.nextInt(chain.length);
    for (int i = 0; i < count; i++) {
      keys[i] = random.nextInt(20) == 0 ? chain[at] % 7 : chain[Math.max(0, at - i)] + salt;
    }
    int expected = 0;
    for (long key : keys) {
      expected += oracle.isAlive(slot) && oracle.remove(slot, key, tier, counted) ? 1 : 0;
    }
    assertThat(handles[worker].remove(keys, count, tier, counted)).isEqualTo(expected);
  }

  /** Rebuilds the index into one that is as wide or wider, worker by worker, while those to come go on. */
  private void widen(IntConsumer step) {
    int wider = Math.min(256, index.slots() << random.nextInt(2));
    BlockIndex next = new BlockIndex(wider, 64 << 20);
    WorkerBlocks[] heirs = new WorkerBlocks[WORKERS];
    for (int left = WORKERS; left > 0; left--) {
      for (int i = random.nextInt(10); i > 0; i--) {
        int worker = random.nextInt(WORKERS);
        if (heirs[worker] == null) {
          step.accept(worker);
        }
      }
      int worker = random.nextInt(WORKERS);
      while (heirs[worker] != null) {
        worker = (worker + 1) % WORKERS;
      }
      heirs[worker] = handles[worker];
      if (oracle.isAlive(slotOf[worker])) {
        WorkerBlocks heir = next.open(slotOf[worker]);
        handles[worker].handOver().forEachRemaining(part -> assertThat(heir.take(part)).isZero());
        heirs[worker] = heir;
      }
    }
    for (int worker = 0; worker < WORKERS; worker++) {
      handles[worker].succeededBy(heirs[worker]);
      if (!oracle.isAlive(slotOf[worker])) {
        oracle.sweep(slotOf[worker]);
      }
    }
    index = next;
    handles = heirs;
    for (int i = 0; i < 20; i++) {
      check(false);
    }
  }

  private void start(int slots, long seed) {
    random = new SplittableRandom(seed);
    index = new BlockIndex(slots, 64 << 20);
    handles = new WorkerBlocks[WORKERS];
    slotOf = new int[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
      slotOf[i] = i * (slots - 1) / (WORKERS - 1);
      handles[i] = index.open(slotOf[i]);
      oracle.open(slotOf[i]);
    }
    for (int i = 0; i < CHAINS; i++) {
      long[] base = i < 3 ? new long[0] : chains.get(random.nextInt(chains.size()));
      int shared = base.length == 0 ? 0 : random.nextInt(base.length);
      long[] chain = new long[shared + 1 + random.nextInt(random.nextInt(10) == 0 ? 700 : 60)];
      System.arraycopy(base, 0, chain, 0, shared);
      for (int p = shared; p < chain.length; p++) {
        chain[p] = BlockHash.chained(p == 0 ? BlockHash.NONE : chain[p - 1], random.nextInt(1, 50) + 100L * i);
      }
      chains.add(chain);
    }
  }

  private interface Naming {
    long key(long hash);
  }

  private void store(int worker, long[] chain, int from, int wanted, Naming naming, Tier tier) {
    int slot = slotOf[worker];
    boolean alive = oracle.isAlive(slot);
    boolean counted = random.nextBoolean();
    boolean root = from == 0;
    long parentKey = 0;
    if (!root) {
      List<Long> parents = new ArrayList<>();
      oracle.blocks(slot).forEach((key, block) -> {
        if (block.hash() == chain[from - 1]) {
          parents.add(key);
        }
      });
      if (parents.isEmpty()) {
        if (alive) {
          long absent = chain[from - 1] + 77;
          assertThatThrownBy(
                  () -> handles[worker].store(absent, false, new long[1], new long[] {5}, 1, tier, counted))
              .isInstanceOf(IllegalStateException.class);
        }
        return;
      }
      parentKey = parents.get(random.nextInt(parents.size()));
      assertThat(handles[worker].hashOf(parentKey)).isEqualTo(chain[from - 1]);
    }
    long[] keys = new long[wanted];
    long[] hashes = new long[wanted];
    for (int i = 0; i < wanted; i++) {
      hashes[i] = chain[from + i];
      keys[i] = naming.key(hashes[i]);
    }
    assertThat(handles[worker].store(parentKey, root, keys, hashes, wanted, tier, counted))
        .isEqualTo(alive ? wanted : 0);
    for (int i = 0; alive && i < wanted; i++) {
      oracle.store(slot, keys[i], hashes[i], tier, counted);
    }
  }

  /** Removes what the worker holds of a chain from some depth on, and everything that hangs on it. */
  private void removeLeaves(int worker, long[] chain) {
    int slot = slotOf[worker];
    if (!oracle.isAlive(slot)) {
      return;
    }
    int held = Oracle.depth(oracle.held(slot), chain);
    if (held == 0) {
      return;
    }
    int keep = held - 1 - random.nextInt(Math.min(held, 30));
    for (long[] other : chains) {
      int shared = 0;
      while (shared < Math.min(other.length, chain.length) && other[shared] == chain[shared]) {
        shared++;
      }
      if (shared > keep) {
        for (int p = other.length - 1; p >= keep; p--) {
          long key = other[p] * 31;
          assertThat(handles[worker].remove(key, Tier.DEVICE, false))
              .isEqualTo(oracle.remove(slot, key, Tier.DEVICE, false));
        }
      }
    }
  }

  private void lifecycle(int worker) {
    int slot = slotOf[worker];
    if (oracle.isAlive(slot)) {
      if (random.nextInt(3) == 0) {
        index.retire(slot);
        oracle.retire(slot);
        assertThatThrownBy(() -> index.open(slot)).isInstanceOf(IllegalStateException.class);
      }
    } else {
      index.sweep(slot);
      oracle.sweep(slot);
      handles[worker] = index.open(slot);
      oracle.open(slot);
    }
  }

  private void check(boolean nested) {
    long[] chain = chains.get(random.nextInt(CHAINS));
    if (random.nextInt(3) == 0) {
      chain = Arrays.copyOf(chain, 1 + random.nextInt(chain.length));
    }
    Chain prompt = new Chain(chain, 16);
    long[] candidates = new long[index.slots() / 64];
    for (int i = 0; i < candidates.length; i++) {
      candidates[i] = random.nextInt(3) == 0 ? random.nextLong() : -1;
    }
    int[] found = new int[index.slots()];
    int[] proven = new int[index.slots()];
    int deepest = index.search(prompt, candidates, found);
    int linearDepth = index.linear(prompt, candidates, proven);
    int expectedMost = 0;
    int foundMost = 0;
    for (int slot = 0; slot < index.slots(); slot++) {
      if ((candidates[slot >>> 6] >>> slot & 1) == 0) {
        assertThat(found[slot]).isZero();
        continue;
      }
      Map<Long, Tier> held = oracle.held(slot);
      int depth = Oracle.depth(held, chain);
      assertThat(proven[slot]).as("slot %d", slot).isEqualTo(depth);
      assertThat(index.verify(prompt, slot)).isEqualTo(depth);
      if (nested) {
        assertThat(found[slot]).as("slot %d", slot).isEqualTo(depth);
      } else {
        assertThat(found[slot]).as("slot %d", slot).isGreaterThanOrEqualTo(depth);
        assertThat(found[slot] == 0 || held.containsKey(chain[found[slot] - 1])).isTrue();
      }
      int[] tiers = new int[4];
      assertThat(index.tiers(prompt, slot, tiers)).isEqualTo(depth);
      int[] expected = new int[4];
      for (int p = 0; p < depth; p++) {
        expected[held.getOrDefault(chain[p], Tier.REMOTE).index()]++;
      }
      assertThat(tiers).isEqualTo(expected);
      expectedMost = Math.max(expectedMost, depth);
      foundMost = Math.max(foundMost, found[slot]);
    }
    assertThat(linearDepth).isEqualTo(expectedMost);
    assertThat(deepest).isEqualTo(foundMost);
    assertThat(index.rows()).isEqualTo(oracle.rows());
    for (int worker = 0; worker < WORKERS; worker++) {
      if (oracle.isAlive(slotOf[worker])) {
        assertThat(handles[worker].size()).isEqualTo(oracle.blocks(slotOf[worker]).size());
      }
    }
  }
}
