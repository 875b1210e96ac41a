package io.kvasir.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.enginemodel.CacheListener;
import io.kvasir.enginemodel.EngineModel;
import io.kvasir.index.BlockIndex;
import io.kvasir.index.Chain;
import io.kvasir.routing.Booking;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

final class IndexFeedTest {
  private static final EngineModel ENGINE = EngineModel.named(TestTraces.ENGINE);
  private static final long[] CHAIN = {11, 12, 13, 14};
  private static final LabRequest REQUEST = LabRequest.at(0, 2100, 1, BlockHashes.of(CHAIN), "");

  private final BlockIndex index = new BlockIndex(64, 64 << 20);
  private final LabClock clock = new LabClock();

  @Test
  void exact_showsEventsAtOnce() {
    CacheListener engine = feed("exact").listener(1);

    engine.stored(sequence(), 0, 2);
    assertThat(depth(1)).isEqualTo(2);
    engine.stored(sequence(), 2, 4);
    engine.removed(14);

    assertThat(depth(1)).isEqualTo(3);
    assertThat(depth(0)).isZero();
  }

  @Test
  void delayed_showsEventsWhenTheyAreDue() {
    IndexFeed feed = feed("delayed:200");
    clock.nowMs = 1000;
    feed.listener(0).stored(sequence(), 0, 4);

    feed.catchUp(1199);
    assertThat(depth(0)).isZero();
    feed.catchUp(1200);
    assertThat(depth(0)).isEqualTo(4);
  }

  @Test
  void lossy_losingAll_knowsNothingUntilItReadsAnew() {
    IndexFeed feed = feed("lossy:1:60");
    feed.listener(0).stored(sequence(), 0, 4);
    feed.listener(0).removed(14);

    feed.catchUp(59_999);
    assertThat(depth(0)).isZero();
    feed.catchUp(60_000);
    assertThat(depth(0)).isEqualTo(3);
  }

  @Test
  void lossy_readingAnew_forgetsWhatWentUnheard() {
    IndexFeed feed = feed("lossy:1:60");
    CacheListener engine = feed.listener(0);
    engine.stored(sequence(), 0, 4);
    engine.stored(sequence(), 3, 4);
    feed.catchUp(60_000);
    clock.nowMs = 61_000;
    engine.removed(14);
    engine.removed(14);
    engine.removed(13);
    assertThat(depth(0)).isEqualTo(4);

    feed.catchUp(120_000);

    assertThat(depth(0)).isEqualTo(2);
  }

  @Test
  void approximate_countsWhatWasSentAndForgetsTheOldest() {
    SlotWriter[] writers = open("approximate");
    writers[1].routed(new Chain(CHAIN, 512), 10, 0);
    writers[1].expire(1e12);
    assertThat(depth(1)).isEqualTo(4);

    int others = LabEngine.blocks(ENGINE, 512) / 100 + 1;
    for (int i = 1; i <= others; i++) {
      long[] chain = new long[100];
      for (int block = 0; block < chain.length; block++) {
        chain[block] = 1000L * i + block;
      }
      writers[1].routed(new Chain(chain, 512), 10, 0);
    }

    assertThat(depth(1)).isLessThan(4);
  }

  @Test
  void predicted_untilTheEngineHasHadTimeToTell() {
    SlotWriter[] writers = open("exact");
    writers[0].routed(new Chain(CHAIN, 512), 500, 1000);
    IndexFeed.of(new IndexMode.Exact(), writers, clock, new SplittableRandom(1)).listener(0).stored(sequence(), 0, 1);
    assertThat(depth(0)).isEqualTo(4);

    writers[0].expire(5999);
    assertThat(depth(0)).isEqualTo(4);
    writers[0].expire(6000);
    assertThat(depth(0)).isEqualTo(1);
  }

  @Test
  void parse_whatIsNoMode_tellsWhatIs() {
    assertThatThrownBy(() -> IndexMode.parse("lossy:1.5")).hasMessageContaining("lossy:SHARE");
    assertThatThrownBy(() -> IndexMode.parse("late")).hasMessageContaining("delayed:MS");
    assertThat(IndexMode.parse("lossy:0.1:5")).isEqualTo(new IndexMode.Lossy(0.1, 5000));
  }

  private IndexFeed feed(String mode) {
    return IndexFeed.of(IndexMode.parse(mode), open(mode), clock, new SplittableRandom(1));
  }

  private SlotWriter[] open(String mode) {
    return SlotWriter.open(index, 2, IndexMode.parse(mode), _ -> LabEngine.blocks(ENGINE, 512));
  }

  private static LabSequence sequence() {
    return new LabSequence(
        0, 0, LabSequence.RequestPhase.WHOLE, REQUEST, new Booking(2100, 2100, 1), 0, 0,
        new LabSequence.Listener() {
          @Override
          public void firstToken(LabSequence sequence) {}

          @Override
          public void ended(LabSequence sequence) {}

          @Override
          public void load(LabSequence sequence, int from) {}
        });
  }

  private int depth(int slot) {
    int[] depths = new int[64];
    index.search(new Chain(CHAIN, 512), new long[] {3}, depths);
    return depths[slot];
  }
}
