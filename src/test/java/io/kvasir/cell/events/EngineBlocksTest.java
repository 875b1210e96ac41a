package io.kvasir.cell.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.events.ExtraKey;
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
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Engines whose blocks are larger than those into which prompts are cut. */
final class EngineBlocksTest {
  private static final int SLOT = 7;
  private static final int LARGE = 8;
  private static final int SMALL = 2;
  private static final int PARTS = LARGE / SMALL;

  private final BlockIndex index = new BlockIndex(64, 64 << 20);
  private final WorkerBlocks blocks = index.open(SLOT);
  private final EventApplier applier = new EventApplier(blocks, LARGE);
  private long sequence;

  private void apply(KvEvent... events) {
    applier.apply(new KvBatch(sequence++, 0, 0, List.of(events)), 1);
  }

  private static Stored stored(boolean root, long parent, long[] keys, int[] tokens, int size) {
    return new Stored(
        root, parent, keys, tokens, size, Tier.DEVICE, null, null, KvEvent.UNSPECIFIED, Spec.UNSPECIFIED, List.of());
  }

  private int depth(BlockHash hash, int[] prompt, int size) {
    return index.verify(Chain.of(hash, prompt, size), SLOT);
  }

  private int depth(int[] prompt, int size) {
    return depth(BlockHash.in(null, null), prompt, size);
  }

  /**
   * An engine that stores, copies, and evicts in any order, beside what it holds block by block. Few tokens, so that
   * many blocks begin alike and part within.
   */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void anyStoresAndRemovals_wholeBlocksAreFound_andNothingElse(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    boolean counted = seed % 2 == 0;
    Map<String, Integer> copies = new TreeMap<>();
    List<String> known = new ArrayList<>();
    List<int[]> told = new ArrayList<>();
    if (seed % 3 == 0) {
      applier.cutInto(SMALL);
    } else {
      apply(stored(true, 0, new long[] {1}, new int[LARGE], LARGE));
      assertThat(applier.cutInto(SMALL)).as("what came until now is cut otherwise").isTrue();
      applier.reset();
    }
    for (int step = 0; step < 1500; step++) {
      int[] prompt = tokens(random, LARGE * (1 + random.nextInt(4)));
      told.add(prompt);
      if (random.nextInt(3) > 0) {
        // Blocks that are missing, as an engine tells of them: one after the other.
        for (int end = LARGE; end <= prompt.length; end += LARGE) {
          String name = Arrays.toString(Arrays.copyOf(prompt, end));
          boolean again = copies.getOrDefault(name, 0) == 0 || random.nextInt(6) == 0;
          if (again) {
            long parent = end == LARGE ? 0 : key(Arrays.toString(Arrays.copyOf(prompt, end - LARGE)));
            store(counted, stored(
                end == LARGE, parent, new long[] {key(name)}, Arrays.copyOfRange(prompt, end - LARGE, end), LARGE));
            copies.merge(name, 1, (a, b) -> counted ? a + b : 1);
            known.add(name);
          }
        }
      } else if (!known.isEmpty()) {
        String gone = known.remove(random.nextInt(known.size()));
        if (copies.getOrDefault(gone, 0) > 0) {
          store(counted, new Removed(new long[] {key(gone)}, Tier.DEVICE, KvEvent.UNSPECIFIED));
          copies.merge(gone, -1, Integer::sum);
        }
      }
      int[] asked = tokens(random, LARGE * (1 + random.nextInt(4)) + random.nextInt(LARGE));
      int[] before = told.get(random.nextInt(told.size()));
      System.arraycopy(before, 0, asked, 0, random.nextInt(Math.min(before.length, asked.length) + 1));
      assertThat(depth(asked, SMALL) / PARTS).isEqualTo(held(copies, asked));
    }
    assertThat(copies.values()).anyMatch(count -> count > 0);
    copies.forEach((name, count) -> {
      for (int i = 0; i < count; i++) {
        store(counted, new Removed(new long[] {key(name)}, Tier.DEVICE, KvEvent.UNSPECIFIED));
      }
    });
    assertThat(blocks.size()).as("parts of blocks that are gone").isZero();
    assertThat(index.rows()).isZero();
  }

  private static int[] tokens(SplittableRandom random, int length) {
    return random.ints(length, 0, 2).toArray();
  }

  private void store(boolean counted, KvEvent event) {
    applier.apply(new KvBatch(counted ? sequence++ : KvBatch.UNSEQUENCED, 0, 0, List.of(event)), 1);
  }

  private static long key(String name) {
    return BlockHash.chained(17, name.hashCode()) ^ name.length();
  }

  /** Leading blocks whose parents are there, too: an orphan waits for its parent. */
  private static int held(Map<String, Integer> copies, int[] prompt) {
    int held = 0;
    for (int end = LARGE; end <= prompt.length; end += LARGE) {
      if (copies.getOrDefault(Arrays.toString(Arrays.copyOf(prompt, end)), 0) == 0) {
        break;
      }
      held++;
    }
    return held;
  }

  /** A salt that is hidden among a prompt's extra keys is all of the prompt's, an item all parts' of its block. */
  @Test
  void extraKeys_areThoseOfEveryPart() {
    applier.cutInto(SMALL);
    int[] prompt = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    List<List<ExtraKey>> extra =
        List.of(List.of(new ExtraKey.Name("salt")), List.of(new ExtraKey.Item("00112233445566778899", 1)));
    apply(new Stored(
        true, 0, new long[] {1, 2}, prompt, LARGE, Tier.DEVICE, null, null, KvEvent.UNSPECIFIED, Spec.UNSPECIFIED,
        extra));
    assertThat(depth(BlockHash.in(null, "salt"), prompt, SMALL)).as("up to the item").isEqualTo(PARTS);
    assertThat(depth(prompt, SMALL)).isZero();
    assertThat(blocks.size()).isEqualTo(2 * PARTS);
  }

  @Test
  void copyToAnotherTier_isOfEveryPart() {
    applier.cutInto(SMALL);
    int[] prompt = {1, 2, 3, 4, 5, 6, 7, 8};
    apply(stored(true, 0, new long[] {1}, prompt, LARGE));
    apply(new Stored(
        false, 0, new long[] {1}, new int[0], 0, Tier.HOST, null, null, KvEvent.UNSPECIFIED, Spec.UNSPECIFIED,
        List.of()));
    apply(new Removed(new long[] {1}, Tier.DEVICE, KvEvent.UNSPECIFIED));
    assertThat(depth(prompt, SMALL)).isEqualTo(PARTS);
    apply(new Removed(new long[] {1}, Tier.HOST, KvEvent.UNSPECIFIED));
    assertThat(depth(prompt, SMALL)).isZero();
  }

  /** What a hybrid model's other groups need is known at the ends of its own blocks only. */
  @Test
  void hybridModels_andLookahead_stayAsTheyAre() {
    int[] prompt = {1, 2, 3, 4, 5, 6, 7, 8};
    for (KvEvent other :
        List.of(
            new Stored(
                true, 0, new long[] {9}, prompt, LARGE, Tier.DEVICE, null, null, 1,
                new Spec(Spec.Kind.SLIDING_WINDOW, 16), List.of()),
            new Stored(
                true, 0, new long[] {9}, prompt, LARGE, Tier.DEVICE, null, null, KvEvent.UNSPECIFIED,
                Spec.UNSPECIFIED, List.of(), false, new KvEvent.Lookahead(new int[] {5}, 1)))) {
      applier.reset();
      applier.cutInto(SMALL);
      apply(stored(true, 0, new long[] {1}, prompt, LARGE));
      assertThat(applier.state().parts()).isEqualTo(PARTS);
      apply(other);
      assertThat(applier.state().parts()).isEqualTo(1);
      assertThat(depth(prompt, SMALL)).isZero();
      assertThat(applier.cutInto(1)).as("nothing is to be read anew").isFalse();
      apply(stored(true, 0, new long[] {1}, prompt, LARGE));
      assertThat(depth(prompt, LARGE)).isEqualTo(1);
    }
  }

  @Test
  void blocksThatThoseOfPromptsDoNotFitInto_stayAsTheyAre() {
    apply(stored(true, 0, new long[] {1}, new int[LARGE], LARGE));
    assertThat(applier.cutInto(3)).isFalse();
    assertThat(applier.cutInto(2 * LARGE)).isFalse();
    assertThat(applier.cutInto(LARGE)).isFalse();
    assertThat(applier.state().parts()).isEqualTo(1);
    assertThat(depth(new int[LARGE], LARGE)).isEqualTo(1);
  }

  /** Few bytes of an event could name more parts than fit into memory. */
  @Test
  void blocksOfVeryManyParts_stayAsTheyAre() {
    int most = SMALL * EngineBlocks.MAX_PARTS;
    applier.cutInto(SMALL);
    apply(stored(true, 0, new long[] {1}, new int[2 * most], 2 * most));
    assertThat(applier.state().parts()).isEqualTo(1);
    apply(new KvEvent.Restarted());
    apply(stored(true, 0, new long[] {1}, new int[most], most));
    // What is shorter may be a block that is still filling.
    assertThat(applier.state().parts()).isEqualTo(1);
    apply(stored(true, 0, new long[] {1, 2}, new int[2 * most], most));
    assertThat(applier.state().parts()).isEqualTo(EngineBlocks.MAX_PARTS);
  }

  /** The engine comes back with blocks of another size. */
  @Test
  void restartedEngine_withOtherBlocks_isCutAsTheyAre() {
    applier.cutInto(SMALL);
    apply(stored(true, 0, new long[] {1}, new int[LARGE], LARGE));
    apply(new KvEvent.Restarted());
    apply(stored(true, 0, new long[] {1, 2}, new int[2 * 4], 4));
    assertThat(applier.state().blockSize()).isEqualTo(4);
    assertThat(applier.state().parts()).isEqualTo(2);
    assertThat(depth(new int[LARGE], SMALL)).isEqualTo(4);
  }
}
