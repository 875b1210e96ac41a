package io.kvasir.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.index.Tier;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.apache.pekko.NotUsed;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.apache.pekko.japi.Pair;
import org.apache.pekko.stream.OverflowStrategy;
import org.apache.pekko.stream.javadsl.Sink;
import org.apache.pekko.stream.javadsl.SinkQueueWithCancel;
import org.apache.pekko.stream.javadsl.Source;
import org.apache.pekko.stream.javadsl.SourceQueueWithComplete;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class MergedEventsTest {
  private @Nullable ActorTestKit kit;
  private final List<SourceQueueWithComplete<KvBatch>> feeds = new ArrayList<>();
  private @Nullable SinkQueueWithCancel<KvBatch> merged;

  @BeforeEach
  void start() {
    kit = ActorTestKit.create();
    merged = new MergedEvents(List.of(feed(), feed())).batches().runWith(Sink.<KvBatch>queue(16), kit.system());
  }

  @AfterEach
  void stop() {
    Objects.requireNonNull(kit).shutdownTestKit();
  }

  @Test
  void facts_loseTheirNumbers() {
    KvEvent removed = new KvEvent.Removed(new long[] {1}, Tier.DEVICE, KvEvent.UNSPECIFIED);
    feeds.get(0).offer(new KvBatch(7, 5, 0, List.of(removed)));
    KvBatch batch = next();
    assertThat(batch.sequence()).isEqualTo(KvBatch.UNSEQUENCED);
    assertThat(batch.publishedAt()).isEqualTo(5);
    assertThat(batch.events()).containsExactly(removed);
  }

  @Test
  void aGap_isOpenWhileOneHasIt() {
    say(0, new KvEvent.Gap(0));
    assertThat(next().events()).containsExactly(new KvEvent.Gap(0));
    say(1, new KvEvent.Gap(3));
    say(0, new KvEvent.GapClosed());
    say(1, new KvEvent.GapClosed());
    assertThat(next().events()).containsExactly(new KvEvent.GapClosed());
  }

  @Test
  void aLossOnOne_outlivesTheOthersRestart() {
    say(0, new KvEvent.GapAbandoned(3, 4));
    assertThat(next().events()).containsExactly(new KvEvent.GapAbandoned(3, 4));
    say(1, new KvEvent.Restarted());
    assertThat(next().events()).containsExactly(new KvEvent.Restarted(), new KvEvent.GapAbandoned(0, 0));
    say(0, new KvEvent.Restarted());
    assertThat(next().events()).containsExactly(new KvEvent.Restarted());
    say(1, new KvEvent.Gap(1));
    say(0, new KvEvent.Cleared());
    assertThat(next().events()).containsExactly(new KvEvent.Gap(1));
    assertThat(next().events()).containsExactly(new KvEvent.Cleared(), new KvEvent.Gap(0));
  }

  @Test
  void connected_whileOneIs() {
    say(0, new KvEvent.Connected());
    assertThat(next().events()).containsExactly(new KvEvent.Connected());
    say(1, new KvEvent.Connected());
    say(0, new KvEvent.Disconnected());
    say(1, new KvEvent.Disconnected());
    assertThat(next().events()).containsExactly(new KvEvent.Disconnected());
  }

  private void say(int feed, KvEvent event) {
    feeds.get(feed).offer(KvBatch.ofStream(event)).toCompletableFuture().join();
    // Merging orders nothing between feeds: what one said is through before the other speaks.
    KvEvent mark = new KvEvent.Removed(new long[] {feed}, Tier.HOST, feed);
    feeds.get(feed).offer(KvBatch.ofStream(mark)).toCompletableFuture().join();
    while (true) {
      KvBatch batch = pulled();
      if (batch.events().contains(mark)) {
        return;
      }
      kept.add(batch);
    }
  }

  private final List<KvBatch> kept = new ArrayList<>();

  private KvBatch next() {
    return kept.isEmpty() ? pulled() : kept.removeFirst();
  }

  private KvBatch pulled() {
    return Objects.requireNonNull(merged)
        .pull()
        .toCompletableFuture()
        .orTimeout(60, TimeUnit.SECONDS)
        .join()
        .orElseThrow();
  }

  private EventSource feed() {
    Pair<SourceQueueWithComplete<KvBatch>, Source<KvBatch, NotUsed>> made =
        Source.<KvBatch>queue(64, OverflowStrategy.backpressure())
            .preMaterialize(Objects.requireNonNull(kit).system());
    feeds.add(made.first());
    return made::second;
  }
}
