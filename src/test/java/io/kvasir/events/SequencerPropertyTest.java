package io.kvasir.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/**
 * A simulated engine whose live messages are dropped, doubled, swapped and cut, whose replays lose messages and
 * their mark, whose connections break and whose process restarts, all at random. Whatever happened: once it
 * is quiet, what was delivered since the last restart is the engine's present history in order, without
 * duplicates, and whatever is not in it was said to be lost.
 */
final class SequencerPropertyTest {
  private static final int RUNS = 800;

  @Test
  void anyLoss_endsInTheEnginesHistory_orSaysWhatIsMissing() {
    int lost = 0;
    for (int seed = 0; seed < RUNS; seed++) {
      lost += new Run(seed).play();
    }
    // The runs must not be so hostile that all they show is giving up.
    assertThat(lost).isBetween(1, RUNS / 4);
  }

  private static final class Run implements SequencerOutput {
    private final SplittableRandom random;
    private final int seed;
    private final Sequencer sequencer;
    private final double loss;
    private final int buffer;
    private long clock = 1000;

    private int process = 1;
    private final List<DecodedMessage> history = new ArrayList<>();
    private final ArrayDeque<DecodedMessage> wire = new ArrayDeque<>();
    private final ArrayDeque<DecodedMessage> replies = new ArrayDeque<>();
    private boolean replaying;
    private boolean marked;

    private final List<KvBatch> delivered = new ArrayList<>();
    private boolean[] missing = new boolean[0];
    private boolean open;
    private int abandoned;

    Run(int seed) {
      this.seed = seed;
      this.random = new SplittableRandom(seed);
      this.loss = seed % 3 == 0 ? 0 : 0.25;
      this.buffer = seed % 5 == 0 ? 8 : 1000;
      EventMetrics metrics = new EventMetrics(new Metrics(new PrometheusRegistry()));
      this.sequencer = new Sequencer(this, true, false, false, metrics.of("test"));
    }

    /** Plays a stormy time and then a quiet one; returns whether anything was lost for good. */
    int play() {
      for (int i = random.nextInt(5); i > 0; i--) {
        publish(false);
      }
      sequencer.connected();
      for (int step = 0; step < 200; step++) {
        storm();
      }
      // A quiet time: everything published arrives, and replays are whole.
      while (replaying) {
        replyOrEnd();
      }
      while (!wire.isEmpty()) {
        sequencer.live(wire.remove(), 1);
      }
      for (int i = 0; i < 3; i++) {
        publish(true);
        sequencer.live(wire.remove(), 1);
        while (replaying) {
          replyOrEnd();
        }
      }
      check();
      return abandoned > 0 ? 1 : 0;
    }

    private void storm() {
      switch (random.nextInt(12)) {
        case 0, 1, 2, 3 -> publish(random.nextDouble() >= loss);
        case 4, 5, 6 -> receive();
        case 7, 8, 9 -> {
          if (replaying) {
            replyOrEnd();
          }
        }
        case 10 -> {
          if (random.nextInt(6) == 0) {
            reconnect(false);
          }
        }
        default -> {
          if (random.nextInt(8) == 0) {
            reconnect(true);
          }
        }
      }
    }

    private void publish(boolean arrives) {
      long sequence = history.size();
      DecodedMessage message =
          new DecodedMessage(new KvBatch(sequence, ++clock, process, List.of()), Map.of(), null);
      history.add(message);
      if (arrives) {
        wire.add(message);
      }
    }

    private void receive() {
      DecodedMessage message = wire.poll();
      if (message == null) {
        return;
      }
      switch (random.nextInt(10)) {
        case 0 -> {
          sequencer.live(message, 1);
          sequencer.live(message, 1);
        }
        case 1 -> {
          DecodedMessage next = wire.poll();
          if (next != null) {
            sequencer.live(next, 1);
          }
          sequencer.live(message, 1);
        }
        case 2 ->
            sequencer.live(
                new DecodedMessage(new KvBatch(message.batch().sequence(), 0, -1, List.of()), Map.of(), "cut"), 1);
        default -> sequencer.live(message, 1);
      }
    }

    private void reconnect(boolean restart) {
      // What was under way on the old connection may still be read after the break was noticed.
      int left = random.nextInt(wire.size() + 1);
      sequencer.disconnected();
      for (int i = 0; i < left; i++) {
        sequencer.live(wire.remove(), 1);
      }
      wire.clear();
      if (restart) {
        process++;
        history.clear();
      }
      for (int i = random.nextInt(12); i > 0; i--) {
        publish(false);
      }
      sequencer.connected();
    }

    private void replyOrEnd() {
      if (replies.isEmpty()) {
        sequencer.replayEnded(marked);
        return;
      }
      DecodedMessage reply = replies.remove();
      if (sequencer.needs(reply.batch().sequence())) {
        sequencer.replayed(reply, 1);
      } else {
        sequencer.replayedDuplicate(reply.batch().sequence());
      }
    }

    @Override
    public void replay(long from) {
      replaying = true;
      replies.clear();
      boolean lossy = loss > 0 && random.nextInt(3) == 0;
      for (long sequence = Math.max(from, history.size() - buffer); sequence < history.size(); sequence++) {
        // As a full pipe does: what follows the first ones is lost, here and there.
        if (!lossy || replies.size() < 3 || random.nextDouble() < 0.5) {
          replies.add(history.get((int) sequence));
        }
      }
      marked = !lossy || random.nextBoolean();
    }

    @Override
    public void snapshot() {
      throw new AssertionError("a snapshot was requested of an engine that offers none");
    }

    @Override
    public void endReplay() {
      replaying = false;
      replies.clear();
    }

    @Override
    public void deliver(KvBatch batch, int bytes, boolean live) {
      if (batch.sequence() >= 0) {
        delivered.add(batch);
        return;
      }
      switch (batch.events().getFirst()) {
        case KvEvent.Gap _ -> open = true;
        case KvEvent.GapClosed _ -> open = false;
        case KvEvent.Restarted _ -> {
          delivered.clear();
          missing = new boolean[0];
          open = false;
        }
        case KvEvent.GapAbandoned(long from, long to) -> {
          open = false;
          abandoned++;
          missing = Arrays.copyOf(missing, Math.max(missing.length, (int) to + 1));
          for (long i = from; i <= to; i++) {
            missing[(int) i] = true;
          }
        }
        default -> throw new AssertionError(batch);
      }
    }

    private void check() {
      String as = "seed " + seed;
      assertThat(open).as(as).isFalse();
      long next = 0;
      for (KvBatch batch : delivered) {
        for (; next < batch.sequence(); next++) {
          assertThat(missing[(int) next]).as(as + ": %d was said to be lost", next).isTrue();
        }
        assertThat(batch.sequence()).as(as).isEqualTo(next);
        if (batch.rank() >= 0) {
          assertThat(batch).as(as).isEqualTo(history.get((int) next).batch());
        } else {
          assertThat(missing[(int) next]).as(as + ": %d was damaged", next).isTrue();
        }
        next++;
      }
      assertThat(next).as(as).isEqualTo(history.size());
    }
  }
}
