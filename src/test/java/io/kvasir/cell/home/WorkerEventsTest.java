package io.kvasir.cell.home;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.ConfigFactory;
import io.kvasir.cell.PodSource;
import io.kvasir.cell.TestPods;
import io.kvasir.cell.directory.PodEntry;
import io.kvasir.cell.worker.Member;
import io.kvasir.events.EventFeed;
import io.kvasir.events.KvBatch;
import io.kvasir.events.KvEvent;
import io.kvasir.index.Tier;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.apache.pekko.NotUsed;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.apache.pekko.actor.testkit.typed.javadsl.ManualTime;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.stream.BoundedSourceQueue;
import org.apache.pekko.stream.javadsl.Source;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What becomes of a worker's blocks and of its stream, whose every opening is a queue of the test's. */
final class WorkerEventsTest {
  private static final int BLOCK = 16;

  private static ActorTestKit kit;
  private static ManualTime time;

  private final List<BoundedSourceQueue<KvBatch>> streams = new CopyOnWriteArrayList<>();
  private Member member = member(new EventFeed.Push("key"));

  private Member member(EventFeed... feeds) {
    return new Members("m", services())
        .admit(new PodEntry(TestPods.pod("p").blockSize(BLOCK).events(List.of(feeds)).build(), PodSource.CONFIG))
        .getFirst();
  }

  private CellServices services() {
    return TestServices.deciding("prefix-aware")
        .events((_, _) -> Source.<KvBatch>queue(100).mapMaterializedValue(this::opened))
        .build();
  }

  private NotUsed opened(BoundedSourceQueue<KvBatch> stream) {
    streams.add(stream);
    return NotUsed.getInstance();
  }

  @BeforeAll
  static void start() {
    kit =
        ActorTestKit.create(
            ConfigFactory.parseResources("platform.conf").withOnlyPath("kvasir-events-dispatcher")
                .withFallback(ManualTime.config()));
    time = ManualTime.get(kit.system());
  }

  @AfterAll
  static void stop() {
    kit.shutdownTestKit();
  }

  @Test
  void streamThatEnds_isOpenedAgain_andUntilThenTheIndexIsUncertain() {
    begin();
    send(new KvEvent.Connected());
    store(0, 3);
    await(() -> blocks() == 3 && member.cache().events().connected());

    streams.getFirst().complete();
    await(() -> member.cache().events().suspect());
    assertThat(member.cache().events().connected()).isFalse();
    await(() -> {
      time.timePasses(Duration.ofSeconds(1));
      return streams.size() == 2;
    });
    assertThat(blocks()).isZero();
    store(0, 2);
    await(() -> blocks() == 2 && !member.cache().events().suspect());
  }

  /** A broker has what a process that is gone has told: whoever opens the stream again hears all of it again. */
  @Test
  void whatIsForgotten_staysForgotten_andTheStreamGoesOn() {
    ActorRef<WorkerEvents.Message> events = begin();
    send(new KvEvent.Connected());
    store(0, 3);
    await(() -> blocks() == 3);

    events.tell(WorkerEvents.Forget.INSTANCE);
    await(() -> blocks() == 0);
    assertThat(member.cache().events().connected()).isTrue();
    store(1, 2);
    await(() -> blocks() == 2);
    assertThat(streams).hasSize(1);
  }

  /** Reading TensorRT-LLM's events takes them off its server: another stream brings later ones only. */
  @Test
  void whatCannotBeReadAgain_isKeptWhenItsStreamEnds_andTheStreamWhenItIsCutOtherwise() {
    member = member(new EventFeed.TensorRt(null, Duration.ofMillis(10)));
    ActorRef<WorkerEvents.Message> events = begin();
    send(new KvEvent.Connected());
    store(0, 3);
    await(() -> blocks() == 3);
    streams.getFirst().complete();
    await(() -> {
      time.timePasses(Duration.ofSeconds(1));
      return streams.size() == 2;
    });
    assertThat(blocks()).isEqualTo(3);
    assertThat(member.cache().events().suspect()).isTrue();

    events.tell(new WorkerEvents.CutInto(BLOCK / 2));
    await("what it holds is not told again", () -> blocks() == 0 && member.cache().events().suspect());
    store(1, 2);
    await(() -> blocks() == 4);
    assertThat(member.cache().events().suspect()).isTrue();
    assertThat(streams).hasSize(2);
  }

  @Test
  void whatCanBeReadAgain() {
    EventFeed polled = new EventFeed.TensorRt(null, Duration.ofMillis(10));
    assertThat(WorkerEvents.canReadAgain(member)).isTrue();
    assertThat(WorkerEvents.canReadAgain(member())).as("there is nothing to read").isTrue();
    assertThat(WorkerEvents.canReadAgain(member(polled))).isFalse();
    assertThat(WorkerEvents.canReadAgain(member(polled, new EventFeed.Push("key")))).isTrue();
  }

  private ActorRef<WorkerEvents.Message> begin() {
    ActorRef<WorkerEvents.Message> events = kit.spawn(WorkerEvents.create(member, services(), null, () -> {}));
    await(() -> streams.size() == 1);
    return events;
  }

  /** Blocks that begin a prompt. */
  private void store(long sequence, int blocks) {
    KvEvent stored =
        new KvEvent.Stored(
            true, 0, LongStream.rangeClosed(1, blocks).toArray(), IntStream.range(0, blocks * BLOCK).toArray(), BLOCK,
            Tier.DEVICE, null, null, KvEvent.UNSPECIFIED, KvEvent.Spec.UNSPECIFIED, List.of());
    assertThat(streams.getLast().offer(new KvBatch(sequence, 0, 0, List.of(stored))).isEnqueued()).isTrue();
  }

  private void send(KvEvent event) {
    assertThat(streams.getLast().offer(KvBatch.ofStream(event)).isEnqueued()).isTrue();
  }

  private int blocks() {
    return member.cache().blocks().size();
  }
}
