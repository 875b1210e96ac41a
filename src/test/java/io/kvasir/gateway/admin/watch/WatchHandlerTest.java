package io.kvasir.gateway.admin.watch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.gateway.admin.AdminTopic;
import io.kvasir.gateway.admin.TestAdmin;
import io.kvasir.time.ManualClock;
import io.kvasir.time.ManualTimer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** The stream on a clock of the test's own: what each second sends to whom. */
final class WatchHandlerTest {
  private static final Duration SECOND = Duration.ofSeconds(1);

  private final ManualTimer timer = new ManualTimer(new ManualClock());
  private final AtomicInteger reads = new AtomicInteger();
  private final AtomicInteger load = new AtomicInteger(1);
  private final AtomicBoolean broken = new AtomicBoolean();
  private final TopicPublisher publisher =
      new TopicPublisher(
          List.of(
              new AdminTopic("workers", Map.of("workers", List.of("id")), this::workers),
              new AdminTopic("still", Map.of(), () -> JsonNodeFactory.instance.objectNode().put("a", 1))),
          timer,
          Runnable::run);

  @Test
  void stream_beginsWhole_thenHasChanges_orKeepsAlive() throws IOException {
    Watcher watcher = join("workers");
    timer.advance(SECOND);
    load.set(2);
    timer.advance(SECOND);
    publisher.close();

    assertThat(written(watcher)).isEqualTo(
        """
        event: workers
        data: {"full":{"workers":{"w 1":{"id":"w 1","load":1,"models":["m"]}}}}

        :

        event: workers
        data: {"patch":{"workers":{"w 1":{"load":2}}}}

        """);
  }

  @Test
  void topic_isReadOnceASecond_howeverManyWatch_andNotAtAllWhenNobodyDoes() {
    Watcher first = join("workers");
    Watcher second = join("workers", "still");
    timer.advance(Duration.ofSeconds(3));
    assertThat(reads).hasValue(4);

    publisher.leave(first);
    publisher.leave(second);
    timer.advance(Duration.ofSeconds(10));
    assertThat(reads).hasValue(4);
    assertThat(timer.pending()).isZero();
  }

  @Test
  void watchers_getTheSameBytes_theLaterOneItsBeginning() throws IOException {
    Watcher first = join("workers");
    Watcher later = join("workers");
    timer.advance(SECOND);
    load.set(5);
    timer.advance(SECOND);
    publisher.close();

    String begun = written(later);
    assertThat(begun).startsWith("event: workers\ndata: {\"full\"").contains("\"patch\"");
    assertThat(written(first)).startsWith("event: workers\ndata: {\"full\"").endsWith(begun.substring(begun.lastIndexOf(
        "event:")));
  }

  @Test
  void topicThatCannotBeRead_goesOnWhereItWas() throws IOException {
    Watcher watcher = join("workers");
    broken.set(true);
    timer.advance(SECOND);
    broken.set(false);
    load.set(2);
    timer.advance(SECOND);
    publisher.close();

    assertThat(written(watcher))
        .contains("\n\n:\n\nevent: workers\ndata: {\"patch\":{\"workers\":{\"w 1\":{\"load\":2");
  }

  @Test
  void clientThatDoesNotRead_isCut_andHoldsLittle() {
    Watcher slow = join("workers");
    timer.advance(Duration.ofSeconds(60));

    assertThat(timer.pending()).as("rounds without watchers").isZero();
    assertThatThrownBy(() -> slow.writeTo((_, _, _) -> {}, () -> true)).isInstanceOf(IOException.class);
    assertThat(publisher.hasRoom()).isTrue();
  }

  @Test
  void key_isAskedForEachRound() throws IOException {
    Watcher watcher = join("workers");
    timer.advance(SECOND);
    AtomicInteger asked = new AtomicInteger();
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    watcher.writeTo(out::write, () -> asked.incrementAndGet() == 1);

    assertThat(out.toString(StandardCharsets.UTF_8)).contains("full").doesNotEndWith(":\n\n");
  }

  @Test
  void streams_areNoMoreThanThereMayBe() throws IOException {
    for (int i = 0; i < TopicPublisher.MAX_WATCHERS; i++) {
      assertThat(publisher.join(Set.of("still"))).isNotNull();
    }
    assertThat(publisher.join(Set.of("still"))).isNull();
    assertThat(TestAdmin.call(new WatchHandler(publisher), "GET", "/admin/watch?topics=still", "", 503)
        .at("/error/message").asText()).contains("32 streams");
  }

  @Test
  void topicsThereAreNot_areTold() throws IOException {
    for (String topics : List.of("", "?topics=", "?topics=workers,nothing")) {
      assertThat(TestAdmin.call(new WatchHandler(publisher), "GET", "/admin/watch" + topics, "", 400)
          .at("/error/message").asText()).contains("still,workers");
    }
  }

  private ObjectNode workers() {
    reads.incrementAndGet();
    if (broken.get()) {
      throw new IllegalStateException("no home answers");
    }
    ObjectNode state = JsonNodeFactory.instance.objectNode();
    state.putArray("workers").addObject()
        .put("id", "w 1").put("load", load.get()).putNull("role").putArray("models").add("m");
    return state;
  }

  private Watcher join(String... topics) {
    return Objects.requireNonNull(publisher.join(Set.of(topics)));
  }

  private static String written(Watcher watcher) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    watcher.writeTo(out::write, () -> true);
    return out.toString(StandardCharsets.UTF_8);
  }
}
