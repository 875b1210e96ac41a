package io.kvasir.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.TestMetrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/**
 * What comes out where snapshots are offered, in the words of {@link SequencerTest}; {@code snapshot7} is one that goes
 * on with message 7, {@code *} a part of it, {@code none} one that is not to be had.
 */
final class SequencerSnapshotTest {
  private final List<String> out = new ArrayList<>();
  private final PrometheusRegistry registry = new PrometheusRegistry();
  private long replayFrom = -1;
  private int requests;
  private boolean asked;

  private final Sequencer sequencer =
      new Sequencer(
          new SequencerOutput() {
            @Override
            public void deliver(KvBatch batch, int bytes, boolean live) {
              out.add(word(batch));
            }

            @Override
            public void replay(long from) {
              replayFrom = from;
              asked = false;
            }

            @Override
            public void snapshot() {
              requests++;
              asked = true;
              replayFrom = -1;
            }

            @Override
            public void endReplay() {
              replayFrom = -1;
              asked = false;
            }
          },
          true, true, false, new EventMetrics(new Metrics(registry)).of("test"));

  @Test
  void start_asksForASnapshot_notForTheReplay() {
    sequencer.connected();
    assertThat(asked).isTrue();
    assertThat(replayFrom).isEqualTo(-1);
    snapshot(7);
    live(7, 8);
    assertThat(out).containsExactly("gap0", "snapshot7", "*", "*", "ok", "7", "8");
    assertThat(asked).isFalse();
    assertThat(snapshots("read")).isEqualTo(1);
  }

  @Test
  void liveMessages_waitForTheSnapshot_andThoseInItAreDropped() {
    sequencer.connected();
    live(5, 6, 7, 8);
    assertThat(out).containsExactly("gap0");
    snapshot(7);
    live(9);
    assertThat(out).containsExactly("gap0", "snapshot7", "*", "*", "7", "8", "ok", "9");
  }

  @Test
  void gapAfterTheSnapshot_isReplayed() {
    sequencer.connected();
    live(9);
    snapshot(7);
    assertThat(replayFrom).isEqualTo(7);
    replayed(7);
    replayed(8);
    assertThat(out).containsExactly("gap0", "snapshot7", "*", "*", "7", "8", "9", "ok");
  }

  @Test
  void none_isReplayedFromTheStart() {
    sequencer.connected();
    sequencer.snapshotFailed(true, "broken");
    assertThat(requests).as("asked again").isEqualTo(2);
    sequencer.snapshotFailed(true, "broken");
    assertThat(replayFrom).isZero();
    replayed(0);
    replayed(1);
    sequencer.replayEnded(true);
    sequencer.replayEnded(true);
    assertThat(out).containsExactly("gap0", "none: broken", "0", "1", "ok");
    assertThat(snapshots("failed")).isEqualTo(2);
  }

  @Test
  void none_whileAllIsThereAlready_closesTheGap() {
    sequencer.connected();
    live(0, 1);
    sequencer.snapshotFailed(false, "unknown");
    assertThat(out).containsExactly("gap0", "none: unknown", "0", "1", "ok");
  }

  @Test
  void engineThatDoesNotKnowIt_isNotAskedAgain_untilItConnectsAgain() {
    sequencer.connected();
    sequencer.snapshotFailed(false, "unknown");
    assertThat(requests).isEqualTo(1);
    assertThat(snapshots("unknown")).isEqualTo(1);
    assertThat(replayFrom).isZero();
    replayFromLaterThanRequested(5);
    assertThat(requests).isEqualTo(1);
    sequencer.disconnected();
    sequencer.connected();
    sequencer.replayEnded(true);
    assertThat(requests).as("another engine may be there").isEqualTo(2);
  }

  @Test
  void replayThatDoesNotReachBack_isMadeUpFor() {
    started(3);
    live(9);
    assertThat(replayFrom).isEqualTo(3);
    replayFromLaterThanRequested(6);
    assertThat(asked).isTrue();
    snapshot(10);
    live(10);
    assertThat(out).as("nothing is said to be lost").containsExactly("gap3", "snapshot10", "*", "*", "ok", "10");
  }

  @Test
  void damagedMessage_isMadeUpFor() {
    started(3);
    sequencer.live(message(3, false), 1);
    sequencer.replayed(message(3, false), 1);
    live(4);
    assertThat(asked).isTrue();
    snapshot(5);
    assertThat(out).containsExactly("gap3", "3?", "lost3-3", "snapshot5", "*", "*", "ok");
  }

  @Test
  void lossWithoutSnapshot_isAskedForAgain_afterAWhile() {
    started(3);
    live(9);
    replayFromLaterThanRequested(6);
    sequencer.snapshotFailed(true, "slow");
    sequencer.snapshotFailed(true, "slow");
    replayFromLaterThanRequested(6);
    for (long n = 6; n < 9; n++) {
      replayed(n);
    }
    assertThat(out).endsWith("none: slow", "lost3-5", "6", "7", "8", "9");
    out.clear();
    live(LongStream.range(10, 10 + SnapshotTries.MESSAGES_BETWEEN).toArray());
    assertThat(asked).isTrue();
    snapshot(10 + SnapshotTries.MESSAGES_BETWEEN);
    assertThat(out).endsWith("*", "ok");
    live(LongStream.range(10, 10 + SnapshotTries.MESSAGES_BETWEEN).map(n -> n + SnapshotTries.MESSAGES_BETWEEN)
        .toArray());
    assertThat(asked).as("nothing is missing any more").isFalse();
  }

  /** A process that has published less than was seen is another one. */
  @Test
  void snapshotOfAnotherProcess_isARestart() {
    started(3);
    live(9);
    replayFromLaterThanRequested(6);
    snapshot(4);
    assertThat(asked).as("what was buffered may be of either").isTrue();
    snapshot(5);
    live(5);
    assertThat(out).containsExactly("gap3", "restart", "gap0", "snapshot5", "*", "*", "ok", "5");
  }

  @Test
  void restart_whileASnapshotIsUnderWay_endsIt() {
    sequencer.connected();
    live(5);
    sequencer.live(new DecodedMessage(new KvBatch(0, 9_000_000, 0, List.of()), Map.of(), null), 1);
    assertThat(asked).isFalse();
    snapshot(7);
    assertThat(out).containsExactly("gap0", "restart", "0");
  }

  @Test
  void connectionLost_afterASnapshot_goesOnWhereTheEngineStillIs() {
    sequencer.connected();
    snapshot(7);
    sequencer.disconnected();
    sequencer.connected();
    assertThat(replayFrom).isEqualTo(6);
    replayed(6);
    live(7);
    assertThat(out).as("no restart").containsExactly("gap0", "snapshot7", "*", "*", "ok", "gap7", "7", "ok");
  }

  @Test
  void connectionLost_afterASnapshot_ofAnotherEngine_beginsAnew() {
    sequencer.connected();
    snapshot(7);
    sequencer.disconnected();
    sequencer.connected();
    sequencer.replayed(new DecodedMessage(new KvBatch(6, 9_000_000, 0, List.of()), Map.of(), null), 1);
    assertThat(asked).isTrue();
    assertThat(out).containsExactly("gap0", "snapshot7", "*", "*", "ok", "gap7", "restart", "gap0");
  }

  /** Where the router binds, only the messages show that another process speaks. */
  @Test
  void newProcess_afterASnapshot_isNotTakenForADuplicate() {
    sequencer.connected();
    snapshot(7);
    sequencer.live(new DecodedMessage(new KvBatch(0, 9_000_000, 0, List.of()), Map.of(), null), 1);
    assertThat(out).containsExactly("gap0", "snapshot7", "*", "*", "ok", "restart", "0");
  }

  @Test
  void messageBeforeTheSnapshot_thatArrivesAfterIt_isADuplicate() {
    sequencer.connected();
    snapshot(7);
    live(6, 7);
    assertThat(out).containsExactly("gap0", "snapshot7", "*", "*", "ok", "7");
  }

  @Test
  void standbysPosition_goesBeforeASnapshot() {
    sequencer.resumeAfter(new StreamPosition(4, time(4)));
    sequencer.connected();
    assertThat(asked).isFalse();
    assertThat(replayFrom).isEqualTo(4);
    replayed(4);
    replayed(5);
    sequencer.replayEnded(true);
    sequencer.replayEnded(true);
    assertThat(out).containsExactly("gap5", "5", "ok");
    assertThat(requests).isZero();
  }

  @Test
  void emptySnapshot_ofAnEngineThatHasPublishedNothing() {
    sequencer.connected();
    sequencer.snapshot(new EngineSnapshot(0, 1, PublisherId.NONE, List.of()));
    live(0);
    assertThat(out).containsExactly("gap0", "snapshot0", "ok", "0");
  }

  private void started(long next) {
    sequencer.connected();
    snapshot(next);
    out.clear();
    requests = 0;
  }

  private void replayFromLaterThanRequested(long first) {
    for (int round = 0; round < ReplayRounds.TRIES; round++) {
      if (sequencer.needs(first)) {
        sequencer.replayed(message(first, true), 1);
      } else {
        sequencer.replayedDuplicate(first);
      }
    }
  }

  private void snapshot(long resume) {
    asked = false;
    EngineSnapshot.Part part = new EngineSnapshot.Part(0, List.of(), 1);
    sequencer.snapshot(new EngineSnapshot(resume, time(resume - 1), PublisherId.NONE, List.of(part, part)));
  }

  private void replayed(long sequence) {
    sequencer.replayed(message(sequence, true), 1);
  }

  private void live(long... sequences) {
    for (long sequence : sequences) {
      sequencer.live(message(sequence, true), 1);
    }
  }

  private static DecodedMessage message(long sequence, boolean intact) {
    return new DecodedMessage(
        new KvBatch(sequence, time(sequence), intact ? 0 : 1, List.of()), Map.of(), intact ? null : "damaged");
  }

  private static long time(long sequence) {
    return 1_000_000 + sequence;
  }

  private double snapshots(String result) {
    return TestMetrics.sum(registry, "kvasir_events_snapshots", "test", result);
  }

  private static String word(KvBatch batch) {
    if (batch.events().isEmpty()) {
      return batch.publishedAt() == 0 ? "*" : batch.sequence() + (batch.rank() == 0 ? "" : "?");
    }
    return switch (batch.events().getFirst()) {
      case KvEvent.Gap(long from) -> "gap" + from;
      case KvEvent.GapClosed _ -> "ok";
      case KvEvent.GapAbandoned(long from, long to) -> "lost" + from + "-" + to;
      case KvEvent.Restarted _ -> "restart";
      case KvEvent.Snapshot(long resume) -> "snapshot" + resume;
      case KvEvent.SnapshotFailed(String why) -> "none: " + why;
      default -> throw new AssertionError(batch);
    };
  }
}
