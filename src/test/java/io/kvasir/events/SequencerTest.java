package io.kvasir.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.TestMetrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/**
 * What comes out for what came in. Written out as words: {@code 3} message 3, {@code gap3} a gap from 3, {@code ok}
 * a closed gap, {@code lost3-4}, {@code restart}; {@code 3?} is a message of which events were lost.
 */
final class SequencerTest {
  private final List<String> out = new ArrayList<>();
  private final List<Long> times = new ArrayList<>();
  private long replayFrom = -1;
  private int rounds;

  private final SequencerOutput link =
      new SequencerOutput() {
        @Override
        public void deliver(KvBatch batch, int bytes, boolean live) {
          out.add(word(batch));
          if (batch.sequence() >= 0) {
            times.add(batch.publishedAt());
          }
        }

        @Override
        public void replay(long from) {
          replayFrom = from;
          rounds++;
        }

        @Override
        public void snapshot() {
          throw new AssertionError("a snapshot was requested of an engine that offers none");
        }

        @Override
        public void endReplay() {
          replayFrom = -1;
        }
      };

  private Sequencer sequencer = sequencer(true, false);

  private Sequencer sequencer(boolean replayable, boolean fromOne) {
    return new Sequencer(
        link, replayable, false, fromOne, new EventMetrics(new Metrics(new PrometheusRegistry())).of("test"));
  }

  @Test
  void connected_asksForEverything_andClosesWhenNothingIsThere() {
    sequencer.connected();
    assertThat(replayFrom).isZero();
    sequencer.replayEnded(true);
    live(0, 1);
    assertThat(out).containsExactly("gap0", "ok", "0", "1");
    assertThat(replayFrom).isEqualTo(-1);
  }

  @Test
  void restart_endsTheGap_inTheMetricsToo() {
    PrometheusRegistry registry = new PrometheusRegistry();
    EventMetrics.SourceMetrics metrics = new EventMetrics(new Metrics(registry)).of("test");
    Sequencer counted = new Sequencer(
        new SequencerOutput() {
          @Override
          public void deliver(KvBatch batch, int bytes, boolean live) {
            metrics.delivered(batch);
          }

          @Override
          public void replay(long from) {}

          @Override
          public void snapshot() {}

          @Override
          public void endReplay() {}
        },
        true, false, false, metrics);
    counted.connected();
    counted.disconnected();
    counted.connected();
    counted.replayEnded(true);

    assertThat(TestMetrics.sum(registry, "kvasir_events_gaps")).isEqualTo(2);
    assertThat(TestMetrics.sum(registry, "kvasir_events_gap_endings", "test", "restarted")).isEqualTo(1);
    assertThat(TestMetrics.sum(registry, "kvasir_events_gap_endings", "test", "closed")).isEqualTo(1);
  }

  @Test
  void connected_late_readsTheHistoryFirst() {
    sequencer.connected();
    live(3);
    replay(0, 1, 2);
    live(4);
    assertThat(out).containsExactly("gap0", "0", "1", "2", "3", "ok", "4");
    assertThat(replayFrom).isEqualTo(-1);
  }

  /** Such as for want of descriptors: what the first round has not brought may be there all the same. */
  @Test
  void replay_thatReachesNobodyLater_provesNothing() {
    sequencer.connected();
    replay(0, 1);
    sequencer.replayEnded(false);
    for (int i = 0; i < ReplayRounds.TRIES; i++) {
      sequencer.replayUnreached();
    }
    assertThat(replayFrom).isEqualTo(-1);
    assertThat(out).as("the gap stays open").containsExactly("gap0", "0", "1");
    live(4);
    assertThat(replayFrom).isEqualTo(2);
    replay(2, 3, 4);
    assertThat(out).containsExactly("gap0", "0", "1", "2", "3", "4", "ok");
  }

  /** A connection takes its time on a busy machine: one round that had it is enough. */
  @Test
  void replay_thatReachesNobodyOnceMore_isOverAllTheSame() {
    sequencer.connected();
    replay(0, 1);
    sequencer.replayEnded(false);
    sequencer.replayEnded(false);
    for (int i = 1; i < ReplayRounds.TRIES; i++) {
      assertThat(out).as("the gap is open").containsExactly("gap0", "0", "1");
      sequencer.replayUnreached();
    }
    assertThat(out).containsExactly("gap0", "0", "1", "ok");
  }

  @Test
  void connected_late_bufferShorterThanHistory_saysWhatIsLost() {
    sequencer.connected();
    answer(true, 5, 6);
    live(7);
    assertThat(out).containsExactly("gap0", "lost0-4", "5", "6", "7");
  }

  @Test
  void connected_late_bufferThatMovesOn_isTakenAsItIs() {
    sequencer.connected();
    replay(5);
    replay(7);
    assertThat(out).containsExactly("gap0");
    replay(8, 9, 10);
    live(11);
    assertThat(out).containsExactly("gap0", "lost0-7", "8", "9", "10", "11");
  }

  /** Another subscription delivered everything up to 4. */
  @Test
  void goOn_replayProvesTheLast_andWhatCameLaterIsTold() {
    sequencer.resumeAfter(new StreamPosition(4, time(4)));
    sequencer.connected();
    assertThat(replayFrom).isEqualTo(4);
    replay(4, 5, 6);
    live(7);
    assertThat(out).containsExactly("gap5", "5", "6", "7", "ok");
  }

  @Test
  void goOn_engineBeganAnew_isToldFromTheStart() {
    sequencer.resumeAfter(new StreamPosition(4, time(4) - 1));
    sequencer.connected();
    replay(4);
    assertThat(replayFrom).isZero();
    replay(0, 1);
    live(2);
    assertThat(out).containsExactly("gap5", "restart", "gap0", "0", "1", "2", "ok");
  }

  @Test
  void goOn_withoutReplay_theNextMessageDecides() {
    sequencer = sequencer(false, false);
    sequencer.resumeAfter(new StreamPosition(4, time(4)));
    sequencer.connected();
    live(5, 8);
    assertThat(out).containsExactly("gap5", "5", "ok", "gap6", "lost6-7", "8");
  }

  @Test
  void gap_isFilledBeforeTheMessageThatShowedIt() {
    started(3);
    live(5, 6);
    assertThat(replayFrom).isEqualTo(3);
    replay(3);
    live(7);
    replay(4, 5, 6);
    assertThat(out).containsExactly("gap3", "3", "4", "5", "6", "7", "ok");
    assertThat(replayFrom).isEqualTo(-1);
  }

  @Test
  void gap_lossyReplay_isAskedAgainFromTheFirstMissing() {
    started(3);
    live(9);
    replay(3, 5, 8);
    sequencer.replayEnded(false);
    assertThat(replayFrom).isEqualTo(4);
    replay(4, 7);
    sequencer.replayEnded(true);
    assertThat(replayFrom).isEqualTo(6);
    replay(6, 7, 8);
    assertThat(out).containsExactly("gap3", "3", "4", "5", "6", "7", "8", "9", "ok");
  }

  @Test
  void gap_thatNothingFills_isAbandonedAfterBoundedTries() {
    started(3);
    live(5);
    int before = rounds;
    answer(true);
    assertThat(rounds - before).isLessThan(5);
    live(6);
    assertThat(out).containsExactly("gap3", "lost3-4", "5", "6");
  }

  @Test
  void gap_withAHole_losesOnlyTheHole() {
    started(3);
    live(7);
    answer(true, 3, 4, 6);
    assertThat(out).containsExactly("gap3", "3", "4", "lost5-5", "6", "7");
  }

  @Test
  void gap_withoutReplay_isAbandonedAtOnce() {
    sequencer = sequencer(false, false);
    sequencer.connected();
    live(0, 1, 4);
    assertThat(out).containsExactly("gap0", "0", "ok", "1", "gap2", "lost2-3", "4");
  }

  @Test
  void late_withoutReplay_isAbandonedAtOnce() {
    sequencer = sequencer(false, false);
    sequencer.connected();
    live(4, 5);
    assertThat(out).containsExactly("gap0", "lost0-3", "4", "5");
  }

  @Test
  void fromOne_mayBeginAtOne() {
    sequencer = sequencer(false, true);
    sequencer.connected();
    live(1, 2);
    assertThat(out).containsExactly("gap0", "1", "ok", "2");
  }

  @Test
  void duplicates_areDropped() {
    started(3);
    live(2, 3, 3, 1, 4);
    assertThat(out).containsExactly("3", "4");
  }

  @Test
  void swappedMessages_fillTheirOwnGap() {
    started(3);
    live(4, 3, 5);
    assertThat(out).containsExactly("gap3", "3", "4", "ok", "5");
    assertThat(replayFrom).isEqualTo(-1);
  }

  @Test
  void restart_numbersGoBack() {
    started(3);
    newProcess();
    live(0, 1);
    assertThat(out).containsExactly("restart", "0", "1");
  }

  @Test
  void restart_notFromTheBeginning_readsTheHistory() {
    started(5);
    newProcess();
    live(2);
    assertThat(replayFrom).isZero();
    replay(0, 1);
    assertThat(out).containsExactly("restart", "gap0", "0", "1", "2", "ok");
  }

  @Test
  void restart_onTheSameNumber() {
    started(3);
    newProcess();
    live(2);
    replay(0, 1);
    assertThat(out).containsExactly("restart", "gap0", "0", "1", "2", "ok");
  }

  @Test
  void restart_withoutTimes_numbersGoBack() {
    sequencer.connected();
    sequencer.replayEnded(true);
    for (long sequence : new long[] {0, 1, 2, 2, 0, 1}) {
      sequencer.live(message(sequence, 0, true), 1);
    }
    assertThat(out).containsExactly("gap0", "ok", "0", "1", "2", "restart", "0", "1");
  }

  @Test
  void restart_duringReplay_beginsAnew() {
    started(3);
    live(6);
    replay(3);
    newProcess();
    live(1);
    assertThat(replayFrom).isZero();
    replay(0);
    assertThat(out).containsExactly("gap3", "3", "restart", "gap0", "0", "1", "ok");
  }

  @Test
  void restart_seenInReplayFirst() {
    started(3);
    live(6);
    newProcess();
    replay(3);
    assertThat(replayFrom).isZero();
    replay(0, 1, 2, 3, 4);
    live(5);
    assertThat(out).containsExactly("gap3", "restart", "gap0", "0", "1", "2", "3", "4", "5", "ok");
  }

  @Test
  void reconnect_sameProcess_isProvenByTheLastMessage() {
    started(3);
    sequencer.disconnected();
    sequencer.connected();
    assertThat(replayFrom).isEqualTo(2);
    live(4);
    replay(2, 3, 4);
    assertThat(out).containsExactly("gap3", "3", "4", "ok");
  }

  @Test
  void reconnect_sameProcess_nothingMissed() {
    started(3);
    sequencer.disconnected();
    sequencer.connected();
    replay(2);
    sequencer.replayEnded(true);
    sequencer.replayEnded(true);
    assertThat(out).containsExactly("gap3", "ok");
  }

  @Test
  void reconnect_newProcess_thatHasCaughtUpWithTheNumbers() {
    started(3);
    sequencer.disconnected();
    newProcess();
    sequencer.connected();
    live(3);
    replay(2);
    assertThat(replayFrom).isZero();
    replay(0, 1, 2);
    live(4);
    replay(3);
    assertThat(out).containsExactly("gap3", "restart", "gap0", "0", "1", "2", "3", "4", "ok");
  }

  /** Read before anything could be delivered, and left over when another process is found. */
  @Test
  void reconnect_newProcess_whileNothingHasBeenDelivered_oldMessagesDoNotMixWithIt() {
    sequencer.connected();
    sequencer.replayEnded(true);
    sequencer.disconnected();
    live(2, 3);
    newProcess();
    sequencer.connected();
    live(4);
    replay(0, 1, 2, 3);
    assertThat(out).containsExactly("gap0", "ok", "gap0", "0", "1", "2", "3", "4", "ok");
    assertThat(times).containsExactly(time(0), time(1), time(2), time(3), time(4));
  }

  @Test
  void reconnect_newProcess_withFewerMessages() {
    started(3);
    sequencer.disconnected();
    newProcess();
    sequencer.connected();
    sequencer.replayEnded(true);
    assertThat(replayFrom).isZero();
    replay(0);
    sequencer.replayEnded(true);
    sequencer.replayEnded(true);
    live(1);
    assertThat(out).containsExactly("gap3", "restart", "gap0", "0", "ok", "1");
  }

  @Test
  void reconnect_bufferHasMovedOn_beginsAnew() {
    started(3);
    sequencer.disconnected();
    sequencer.connected();
    replay(8);
    assertThat(replayFrom).isZero();
    answer(true, 8, 9);
    assertThat(out).containsExactly("gap3", "restart", "gap0", "lost0-7", "8", "9");
  }

  @Test
  void reconnect_noAnswer_theNextMessageDecides() {
    started(3);
    sequencer.disconnected();
    sequencer.connected();
    answer(false);
    assertThat(out).containsExactly("gap3");
    live(3);
    assertThat(out).containsExactly("gap3", "3", "ok");
  }

  @Test
  void reconnect_whileReplaying_trustsNothing() {
    started(3);
    live(7);
    replay(3, 4);
    sequencer.disconnected();
    live(5);
    sequencer.connected();
    replay(0, 1, 2, 3, 4, 5, 6, 7);
    sequencer.replayEnded(true);
    sequencer.replayEnded(true);
    assertThat(out)
        .containsExactly("gap3", "3", "4", "restart", "gap0", "0", "1", "2", "3", "4", "5", "6", "7", "ok");
  }

  @Test
  void noAnswer_atStart_firstMessageDecides() {
    sequencer.connected();
    answer(false);
    live(0);
    assertThat(out).containsExactly("gap0", "0", "ok");
  }

  @Test
  void damagedMessage_isReplacedByItsReplay() {
    started(3);
    sequencer.live(message(3, time(3), false), 1);
    live(4);
    assertThat(replayFrom).isEqualTo(3);
    replay(3);
    assertThat(out).containsExactly("gap3", "3", "4", "ok");
  }

  @Test
  void damagedMessage_alsoInReplay_isTakenAsFarAsItGoes() {
    started(3);
    sequencer.live(message(3, time(3), false), 1);
    sequencer.replayed(message(3, time(3), false), 1);
    live(4);
    assertThat(out).containsExactly("gap3", "3?", "lost3-3", "4");
  }

  @Test
  void damagedMessage_withoutReplay_isTakenAsFarAsItGoes() {
    sequencer = sequencer(false, false);
    started(3);
    sequencer.live(message(3, time(3), false), 1);
    live(4);
    assertThat(out).containsExactly("gap3", "3?", "lost3-3", "4");
  }

  @Test
  void replay_farAhead_isHeldWithinBounds() {
    started(1);
    live(ReorderBuffer.MAX_MESSAGES * 3L);
    // The first one is gone and another further on; of the rest there is more than is held at a time.
    answer(true, LongStream.range(2, ReorderBuffer.MAX_MESSAGES * 3L).filter(n -> n != 9).toArray());
    assertThat(out.subList(0, 3)).containsExactly("gap1", "lost1-1", "2");
    assertThat(out.subList(9, 11)).containsExactly("lost9-9", "10");
    assertThat(out).hasSize(ReorderBuffer.MAX_MESSAGES * 3 + 1);
  }

  /** Brings the sequencer to where {@code next} is due and nothing is missing, and forgets what came out. */
  private void started(long next) {
    sequencer.connected();
    for (long sequence = 0; sequence < next; sequence++) {
      live(sequence);
    }
    sequencer.replayEnded(true);
    assertThat(replayFrom).isEqualTo(-1);
    out.clear();
  }

  private long process = 1;

  private void newProcess() {
    process++;
  }

  private long time(long sequence) {
    return process * 1_000_000 + sequence;
  }

  private void live(long... sequences) {
    for (long sequence : sequences) {
      sequencer.live(message(sequence, time(sequence), true), 1);
    }
  }

  /** Messages of one round, which another may end. */
  private void replay(long... sequences) {
    int round = rounds;
    for (long sequence : sequences) {
      if (replayFrom < 0 || rounds != round) {
        return;
      }
      if (sequencer.needs(sequence)) {
        sequencer.replayed(message(sequence, time(sequence), true), 1);
      } else {
        sequencer.replayedDuplicate(sequence);
      }
    }
  }

  /** Rounds from an engine that has these messages, until no more are asked for. */
  private void answer(boolean marked, long... available) {
    for (int tries = 0; replayFrom >= 0; tries++) {
      assertThat(tries).as("rounds").isLessThan(50);
      int round = rounds;
      replay(LongStream.of(available).filter(sequence -> sequence >= replayFrom).toArray());
      if (rounds == round && replayFrom >= 0) {
        sequencer.replayEnded(marked);
      }
    }
  }

  private static DecodedMessage message(long sequence, long publishedAt, boolean intact) {
    KvBatch batch = new KvBatch(sequence, publishedAt, intact ? 0 : 1, List.of());
    return new DecodedMessage(batch, Map.copyOf(new HashMap<>()), intact ? null : "damaged");
  }

  private static String word(KvBatch batch) {
    if (batch.sequence() >= 0) {
      return batch.sequence() + (batch.rank() == 0 ? "" : "?");
    }
    return switch (batch.events().getFirst()) {
      case KvEvent.Gap(long from) -> "gap" + from;
      case KvEvent.GapClosed _ -> "ok";
      case KvEvent.GapAbandoned(long from, long to) -> "lost" + from + "-" + to;
      case KvEvent.Restarted _ -> "restart";
      default -> throw new AssertionError(batch);
    };
  }
}
