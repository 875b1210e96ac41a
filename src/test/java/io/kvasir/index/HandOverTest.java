package io.kvasir.index;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What is handed from one index to another, one fact each; any history is in {@link BlockIndexPropertyTest}. */
final class HandOverTest {
  private final BlockIndex narrow = new BlockIndex(64, 64 << 20);
  private final WorkerBlocks worker = narrow.open(5);
  private final BlockIndex wide = new BlockIndex(256, 64 << 20);
  private final WorkerBlocks heir = wide.open(200);

  private static long[] chain(int seed, int length) {
    long[] chain = new long[length];
    for (int i = 0; i < length; i++) {
      chain[i] = BlockHash.chained(i == 0 ? BlockHash.NONE : chain[i - 1], seed * 1_000_003L + i + 1);
    }
    return chain;
  }

  private static List<Holdings> handOver(WorkerBlocks from, WorkerBlocks to) {
    List<Holdings> parts = new ArrayList<>();
    from.handOver().forEachRemaining(part -> {
      parts.add(part);
      assertThat(to.take(part)).isZero();
    });
    return parts;
  }

  private int depth(BlockIndex index, long[] chain, int slot) {
    int[] depths = new int[index.slots()];
    long[] all = new long[index.slots() / 64];
    Arrays.fill(all, -1);
    index.search(new Chain(chain, 16), all, depths);
    return depths[slot];
  }

  @Test
  void handOver_empty() {
    assertThat(handOver(worker, heir)).isEmpty();
    assertThat(wide.rows()).isZero();
  }

  @Test
  void handOver_longChain_inBoundedParts() {
    long[] chain = chain(1, 5000);
    worker.store(0, true, chain, chain, chain.length, Tier.DEVICE, true);
    List<Holdings> parts = handOver(worker, heir);
    assertThat(parts).hasSize(5);
    assertThat(parts).allSatisfy(part ->
        assertThat(part).isInstanceOfSatisfying(
            Holdings.Blocks.class, blocks -> assertThat(blocks.hashes().length).isBetween(800, 1040)));
    assertThat(depth(wide, chain, 200)).isEqualTo(5000);
    assertThat(heir.remove(chain, 5000, Tier.DEVICE, true)).isEqualTo(5000);
    assertThat(wide.rows()).isZero();
  }

  @Test
  void handOver_segmentsAreLinkedAsBefore() {
    long[] chain = chain(1, 3000);
    // Backwards into used segments, so that the order of their names says nothing of their chain.
    long[] other = chain(2, 4000);
    worker.store(0, true, other, other, other.length, Tier.DEVICE, true);
    worker.remove(other, other.length, Tier.DEVICE, true);
    worker.store(0, true, chain, chain, chain.length, Tier.DEVICE, true);
    handOver(worker, heir);
    assertThat(links(wide, chain)).isEqualTo(links(narrow, chain)).hasSize(188);
    assertThat(links(wide, chain).getFirst()).isEqualTo(16);
  }

  /** Of each segment of a chain: how far on its link leads along the chain. */
  private static List<Integer> links(BlockIndex index, long[] chain) {
    List<Integer> links = new ArrayList<>();
    for (int at = 0; at < chain.length; at += Segments.ROWS) {
      int row = index.segmentOf(chain[at]) << Segments.ROW_BITS;
      Segments segments = index.segments();
      links.add(position(chain, segments, segments.next(row)) - at);
    }
    return links;
  }

  private static int position(long[] chain, Segments segments, int segment) {
    for (int at = 0; segment != Segments.NONE && at < chain.length; at++) {
      if (chain[at] == segments.hash(segment << Segments.ROW_BITS)) {
        return at;
      }
    }
    return -1;
  }

  @Test
  void handOver_copiesAndTiers() {
    long[] chain = chain(1, 40);
    for (int i = 0; i < 3; i++) {
      worker.store(0, true, chain, chain, 40, Tier.DEVICE, true);
    }
    worker.store(0, true, chain, chain, 20, Tier.DISK, true);
    worker.remove(chain, 10, Tier.DEVICE, false);
    handOver(worker, heir);
    int[] tiers = new int[4];
    assertThat(wide.tiers(new Chain(chain, 16), 200, tiers)).isEqualTo(40);
    assertThat(tiers).containsExactly(30, 0, 10, 0);
    for (int i = 0; i < 2; i++) {
      assertThat(heir.remove(chain, 40, Tier.DEVICE, true)).isZero();
    }
    assertThat(heir.remove(chain, 40, Tier.DEVICE, true)).isEqualTo(30);
    assertThat(depth(wide, chain, 200)).isEqualTo(20);
    heir.clear(Tier.DISK);
    assertThat(wide.rows()).isZero();
  }

  @Test
  void handOver_severalKeysOfABlock() {
    long[] chain = chain(1, 2);
    worker.store(0, true, new long[] {1, 2}, chain, 2, Tier.DEVICE, true);
    worker.store(0, true, new long[] {3, 4}, chain, 2, Tier.HOST, true);
    handOver(worker, heir);
    assertThat(heir.size()).isEqualTo(4);
    heir.remove(new long[] {1, 2}, 2, Tier.DEVICE, true);
    assertThat(depth(wide, chain, 200)).isEqualTo(2);
    heir.remove(new long[] {3, 4}, 2, Tier.HOST, true);
    assertThat(wide.rows()).isZero();
  }

  @Test
  void handOver_blocksWithoutTheirParents_areFoundOnceTheseComeBack() {
    // The other worker's branch takes the place after the fork, so that the tail is a segment of its own.
    WorkerBlocks neighbour = narrow.open(6);
    WorkerBlocks neighbourHeir = wide.open(201);
    long[] main = chain(1, 50);
    long[] branch = Arrays.copyOf(main, 50);
    for (int i = 20; i < 50; i++) {
      branch[i] = BlockHash.chained(branch[i - 1], 7_000_000L + i);
    }
    neighbour.store(0, true, branch, branch, 50, Tier.DEVICE, true);
    worker.store(0, true, main, main, 50, Tier.DEVICE, true);
    worker.remove(main, 25, Tier.DEVICE, true);
    handOver(worker, heir);
    handOver(neighbour, neighbourHeir);
    assertThat(heir.hashOf(main[30])).isEqualTo(main[30]);
    assertThat(wide.verify(new Chain(main, 16), 200)).isZero();
    heir.store(0, true, main, main, 25, Tier.DEVICE, true);
    assertThat(wide.verify(new Chain(main, 16), 200)).isEqualTo(50);
    assertThat(wide.verify(new Chain(branch, 16), 201)).isEqualTo(50);
    assertThat(wide.rows()).isEqualTo(80);
  }

  @Test
  void take_twice_isAsOnce() {
    long[] chain = chain(1, 100);
    worker.store(0, true, chain, chain, 100, Tier.HOST, true);
    handOver(worker, heir);
    handOver(worker, heir);
    assertThat(heir.remove(chain, 100, Tier.HOST, true)).isEqualTo(100);
    assertThat(wide.rows()).isZero();
  }

  @Test
  void take_beyondTheBudget_isRefusedAndTheRestIsRight() {
    long[] chain = chain(1, 20_000);
    worker.store(0, true, chain, chain, chain.length, Tier.HOST, true);
    BlockIndex small = new BlockIndex(128, 600_000);
    WorkerBlocks squeezed = small.open(9);
    int refused = 0;
    for (HandOver parts = worker.handOver(); parts.hasNext(); ) {
      refused += squeezed.take(parts.next());
    }
    assertThat(refused).isPositive();
    assertThat(small.refused()).isEqualTo(refused);
    assertThat(squeezed.size()).isEqualTo(20_000 - refused).isPositive();
    assertThat(small.rows()).isEqualTo(squeezed.size());
    assertThat(small.bytes()).isLessThanOrEqualTo(600_000);
    squeezed.clear();
    assertThat(small.rows()).isZero();
  }

  @Test
  void succeededBy_handsPredictionsOver_thoseToComeToo() {
    long[] known = chain(1, 30);
    worker.store(0, true, known, known, 10, Tier.DEVICE, true);
    Prediction before = worker.predict(known, 100);
    handOver(worker, heir);
    assertThat(depth(wide, known, 200)).isEqualTo(10);
    worker.succeededBy(heir);
    assertThat(depth(wide, known, 200)).isEqualTo(30);
    assertThat(heir.predicted()).isEqualTo(20);
    long[] later = chain(2, 5);
    worker.predict(later, 200);
    assertThat(depth(wide, later, 200)).isEqualTo(5);
    before.retract();
    assertThat(depth(wide, known, 200)).isEqualTo(10);
    heir.expire(200);
    assertThat(wide.rows()).isEqualTo(10);
    assertThat(worker.store(0, true, later, later, 5, Tier.DEVICE, true)).isZero();
  }

  @Test
  void handOver_ofARetiredWorker_changesNothing() {
    long[] chain = chain(1, 30);
    worker.store(0, true, chain, chain, 30, Tier.DEVICE, true);
    HandOver parts = worker.handOver();
    wide.retire(200);
    parts.forEachRemaining(part -> assertThat(heir.take(part)).isZero());
    assertThat(wide.rows()).isZero();
  }
}
