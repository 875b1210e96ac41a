package io.kvasir.events;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.pekko.Done;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.stream.KillSwitches;
import org.apache.pekko.stream.UniqueKillSwitch;
import org.apache.pekko.stream.javadsl.Keep;
import org.apache.pekko.stream.javadsl.Sink;

/** What a subscription brought, in the words of {@link SequencerTest}: message n removes the block with key n. */
final class TestStream implements AutoCloseable {
  private final LinkedBlockingQueue<String> words = new LinkedBlockingQueue<>();
  private final UniqueKillSwitch kill;
  private String ignored = "";
  private final CompletionStage<Done> done;

  TestStream(EventSource source, ActorSystem<?> system) {
    var running =
        source
            .batches()
            .viaMat(KillSwitches.single(), Keep.right())
            .toMat(Sink.foreach(this::record), Keep.both())
            .run(system);
    kill = running.first();
    done = running.second();
  }

  /** Leaves a word out from now on. */
  void ignore(String word) {
    ignored = word;
  }

  void expect(String... expected) {
    List<String> seen = new ArrayList<>();
    for (int i = 0; i < expected.length; i++) {
      seen.add(next());
    }
    assertThat(seen).containsExactly(expected);
  }

  String next() {
    try {
      String word = words.poll(60, TimeUnit.SECONDS);
      assertThat(word).as("something in a minute").isNotNull();
      return Objects.requireNonNull(word).equals(ignored) ? next() : Objects.requireNonNull(word);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Message numbers up to and with {@code last}; nothing else may stand between them but a closing gap. */
  List<Long> numbersTo(long last) {
    List<Long> numbers = new ArrayList<>();
    while (numbers.isEmpty() || numbers.getLast() < last) {
      String word = next();
      if (word.equals("ok")) {
        words.add(word);
      } else {
        numbers.add(Long.parseLong(word));
      }
    }
    return numbers;
  }

  List<String> takeUntil(String word) {
    List<String> before = new ArrayList<>();
    for (String next = next(); !next.equals(word); next = next()) {
      before.add(next);
    }
    return before;
  }

  Done finished() throws Exception {
    return done.toCompletableFuture().get(60, TimeUnit.SECONDS);
  }

  @Override
  public void close() {
    kill.shutdown();
  }

  private void record(KvBatch batch) {
    if (!batch.events().isEmpty()) {
      words.add(word(batch));
    }
  }

  private static String word(KvBatch batch) {
    if (batch.events().getFirst() instanceof KvEvent.Snapshot(long resume)) {
      return "snapshot" + resume;
    }
    if (batch.events().getFirst() instanceof KvEvent.Cleared) {
      return "*";
    }
    if (batch.events().getFirst() instanceof KvEvent.Stored) {
      return "state";
    }
    if (batch.sequence() >= 0) {
      KvEvent.Removed removed = (KvEvent.Removed) batch.events().getFirst();
      assertThat(removed.keys()).containsExactly(batch.sequence());
      return Long.toString(batch.sequence());
    }
    return switch (batch.events().getFirst()) {
      case KvEvent.Gap(long from) -> "gap" + from;
      case KvEvent.GapClosed _ -> "ok";
      case KvEvent.GapAbandoned(long from, long to) -> "lost" + from + "-" + to;
      case KvEvent.Restarted _ -> "restart";
      case KvEvent.Connected _ -> "up";
      case KvEvent.Disconnected _ -> "down";
      case KvEvent.SnapshotFailed(String why) -> "none: " + why;
      case KvEvent.Removed removed -> "-" + removed.keys()[0];
      default -> throw new AssertionError(batch);
    };
  }
}
