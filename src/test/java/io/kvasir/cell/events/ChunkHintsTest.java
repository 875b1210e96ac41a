package io.kvasir.cell.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.events.KvBatch;
import io.kvasir.events.KvEvent;
import io.kvasir.events.KvEvent.Spec;
import io.kvasir.events.KvEvent.Stored;
import io.kvasir.index.BlockHash;
import io.kvasir.index.BlockIndex;
import io.kvasir.index.Chain;
import io.kvasir.index.Tier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

final class ChunkHintsTest {
  private static final int CHUNK = 256;
  private static final int BLOCK = 16;

  private final ChunkHints hints = new ChunkHints();

  private static int[] tokens(long seed, int count) {
    return new Random(seed).ints(count, 0, 100_000).toArray();
  }

  private static Chain chain(int[] tokens) {
    long[] hashes = new long[tokens.length / BLOCK];
    BlockHash.in(null, null).chain(BlockHash.NONE, tokens, 0, tokens.length, BLOCK, hashes, 0);
    return new Chain(hashes, BLOCK);
  }

  /** An event of the chunks {@code from} to {@code to} of a prompt; a chunk's key is its number and the prompt's. */
  private static Stored stored(int[] prompt, long name, int from, int to) {
    long[] keys = LongStream.range(from, to).map(i -> name * 1_000_000 + i + 1).toArray();
    return new Stored(
        from == 0, from == 0 ? 0 : name * 1_000_000 + from, keys, Arrays.copyOfRange(prompt, from * CHUNK, to * CHUNK),
        CHUNK, Tier.HOST, null, null, KvEvent.UNSPECIFIED, Spec.UNSPECIFIED, List.of());
  }

  @Test
  void chunksInTheirOrder_areTheDepthOfPromptsThatBeginAlike() {
    int[] prompt = tokens(1, 8 * CHUNK);
    hints.stored(stored(prompt, 1, 0, 2), BLOCK);
    hints.stored(stored(prompt, 1, 2, 5), BLOCK);

    assertThat(hints.depth(chain(prompt))).isEqualTo(5 * CHUNK / BLOCK);
    assertThat(hints.depth(chain(Arrays.copyOf(prompt, 3 * CHUNK + 100)))).isEqualTo(3 * CHUNK / BLOCK);
    assertThat(hints.depth(chain(tokens(2, 8 * CHUNK)))).isZero();
    assertThat(hints.depth(Chain.EMPTY)).isZero();
  }

  @Test
  void chunkWhoseParentIsUnknown_orThatIsCutOtherwise_isLeftOut() {
    int[] prompt = tokens(1, 8 * CHUNK);
    hints.stored(stored(prompt, 1, 2, 5), BLOCK);
    hints.stored(stored(prompt, 1, 0, 2), 48);

    assertThat(hints.depth(chain(prompt))).isZero();
  }

  @Test
  void chunksThatAreGone_areForgotten() {
    int[] prompt = tokens(1, 4 * CHUNK);
    hints.stored(stored(prompt, 1, 0, 4), BLOCK);

    hints.removed(new long[] {1_000_003});

    assertThat(hints.depth(chain(prompt))).isEqualTo(2 * CHUNK / BLOCK);
  }

  /** A cache that holds 2,000 chunks and drops the one stored longest ago, of which it says nothing. */
  @Test
  void reach_isLearntFromWhatEnginesFind() {
    int capacity = 2000;
    List<int[]> prompts = new ArrayList<>();
    Random random = new Random(7);
    int wrong = 0;
    int missed = 0;
    for (int i = 0; i < 12_000; i++) {
      int[] prompt = tokens(i, CHUNK + 1);
      prompts.add(prompt);
      hints.stored(stored(prompt, i + 1, 0, 1), BLOCK);
      int back = random.nextInt(Math.min(i + 1, 6000));
      Chain asked = chain(prompts.get(i - back));
      boolean there = back < capacity;
      if (i > 10_000) {
        boolean hinted = hints.depth(asked) > 0;
        wrong += hinted && !there ? 1 : 0;
        missed += !hinted && there ? 1 : 0;
      }
      ChunkHints.Findings findings = hints.learn(hints.ages(asked), BLOCK, 0, there ? CHUNK : 0, CHUNK + 1);
      assertThat(findings.found()).isLessThanOrEqualTo(there ? 1 : 0);
      assertThat(findings.missing()).isLessThanOrEqualTo(there ? 0 : 1);
    }
    assertThat(wrong).as("of 2,000, two thirds of which ask for what is gone").isLessThan(100);
    assertThat(missed).isLessThan(20);
  }

  @Test
  void whatTheEngineHeldItself_provesNothing_andAPromptsLastChunkIsNeverFound() {
    int[] prompt = tokens(1, 2 * CHUNK);
    hints.stored(stored(prompt, 1, 0, 2), BLOCK);
    int[] ages = hints.ages(chain(prompt));

    assertThat(ages).hasSize(2);
    assertThat(hints.learn(ages, BLOCK, CHUNK, CHUNK, 2 * CHUNK)).isEqualTo(new ChunkHints.Findings(0, 0));
    assertThat(hints.learn(ages, BLOCK, 0, CHUNK + 50, 2 * CHUNK + 1)).isEqualTo(new ChunkHints.Findings(1, 1));
  }

  @Test
  void moreThanFindsRoom_keepsTheLatest() {
    int[][] prompts = IntStream.range(0, 40_000).mapToObj(i -> tokens(i, CHUNK)).toArray(int[][]::new);
    for (int i = 0; i < prompts.length; i++) {
      hints.stored(stored(prompts[i], i + 1, 0, 1), BLOCK);
    }
    int old = 0;
    int late = 0;
    for (int i = 0; i < 2000; i++) {
      old += hints.depth(chain(prompts[i])) > 0 ? 1 : 0;
      late += hints.depth(chain(prompts[prompts.length - 1 - i])) > 0 ? 1 : 0;
    }
    assertThat(late).isGreaterThan(1950);
    assertThat(old).isLessThan(100);
  }

  @Test
  void applier_takesChunksOfOtherTiersAsHints_andForgetsThemWithTheEngine() {
    EventApplier applier = new EventApplier(new BlockIndex(64, 64 << 20).open(0), BLOCK);
    int[] prompt = tokens(1, 2 * CHUNK);

    applier.apply(batch(0, stored(prompt, 1, 0, 2)), 0);

    ChunkHints known = applier.hints();
    assertThat(known == null ? 0 : known.depth(chain(prompt))).isEqualTo(2 * CHUNK / BLOCK);
    assertThat(applier.state().ignored().otherBlockSize()).isEqualTo(1);

    applier.apply(batch(1, new KvEvent.Restarted()), 0);
    assertThat(applier.hints()).isNull();
  }

  private static KvBatch batch(long sequence, KvEvent event) {
    return new KvBatch(sequence, 0, KvBatch.UNKNOWN_RANK, List.of(event));
  }
}
