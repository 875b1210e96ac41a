package io.kvasir.app.node;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class HeapReleaseTest {
  private static final long MIB = 1 << 20;

  private final ScriptedHeap heap = new ScriptedHeap();
  private final HeapRelease release = new HeapRelease(heap);

  /** A heap that has what it is given; collecting all of it leaves what is live. */
  private static final class ScriptedHeap implements ShrinkableHeap {
    long committed = 200 * MIB;
    long live = 200 * MIB;
    int collections;
    int collected;
    int failures;

    @Override
    public long committed() {
      return committed;
    }

    @Override
    public long collections() {
      return collections;
    }

    @Override
    public void shrink() {
      collections++;
      collected++;
      if (failures > 0) {
        failures--;
        throw new IllegalStateException("an option cannot be set");
      }
      committed = live;
    }
  }

  @Test
  void whatTheStartTook_isGivenBackOnce() {
    heap.live = 100 * MIB;
    release.check();
    assertThat(heap.committed).isEqualTo(100 * MIB);

    heap.committed += HeapRelease.LEAST_GROWTH - 1;
    release.check();
    assertThat(heap.collected).as("it has hardly grown").isEqualTo(1);
  }

  @Test
  void grownHeap_isGivenBack_asSoonAsLittleIsAllocated() {
    heap.committed = 1500 * MIB;
    heap.collections += 5;
    release.check();
    assertThat(heap.collected).as("while requests come").isZero();

    heap.collections++;
    release.check();
    assertThat(heap.collected).isEqualTo(1);
    assertThat(heap.committed).isEqualTo(200 * MIB);
  }

  @Test
  void heapFullOfLiveObjects_isCollectedOnceForEachGrowth() {
    heap.live = 1400 * MIB;
    heap.committed = 1500 * MIB;
    release.check();
    release.check();
    release.check();
    assertThat(heap.collected).isEqualTo(1);

    heap.committed = 1500 * MIB;
    release.check();
    assertThat(heap.collected).as("it grew again").isEqualTo(2);
  }

  @Test
  void heapThatShrank_isMeasuredFromThere() {
    heap.live = 1400 * MIB;
    heap.committed = 1500 * MIB;
    release.check();
    heap.live = 200 * MIB;
    heap.committed = 1500 * MIB;
    release.check();
    heap.committed = 300 * MIB;
    release.check();

    assertThat(heap.collected).isEqualTo(3);
  }

  @Test
  void heapThatCannotBeShrunk_isTriedAgain_onlyWhenItHasGrown() {
    heap.failures = 1;
    heap.committed = 1500 * MIB;
    release.check();
    release.check();
    assertThat(heap.collected).isEqualTo(1);

    heap.committed += HeapRelease.LEAST_GROWTH;
    release.check();
    assertThat(heap.committed).isEqualTo(200 * MIB);
  }
}
