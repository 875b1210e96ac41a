package io.kvasir.picker;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.Await;
import io.kvasir.admission.Claim;
import io.kvasir.admission.ServiceClass;
import io.kvasir.picker.extproc.ImmediateResponse;
import io.kvasir.pools.LivePools;
import io.kvasir.pools.Objective;
import io.kvasir.pools.Pool;
import io.kvasir.pools.PoolSet;
import java.net.URI;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Streams whose requests have to wait for their turn. */
final class WaitingStreamTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String BODY = "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";

  private final TestPicker picker;
  private final Semaphore turns = new Semaphore(0);

  WaitingStreamTest() throws Exception {
    picker = new TestPicker(TestPicker.SETTINGS);
    picker.cells.worker("a", URI.create("http://10.0.0.1:8000"), "m");
    picker.cells.turns = turns;
  }

  @AfterEach
  void stop() {
    picker.close();
  }

  @Test
  void request_goesWhenItIsItsTurn() throws Exception {
    TestStream first = picker.stream().head("POST", CHAT, false).body(BODY, true);
    TestStream second = picker.stream().head("POST", CHAT, false).body(BODY, true);
    Await.await(turns::hasQueuedThreads);
    assertThat(first.hasReply() || second.hasReply()).isFalse();

    turns.release(2);
    for (TestStream stream : new TestStream[] {first, second}) {
      stream.destined();
      assertThat(stream.echo()).isEqualTo(BODY);
      stream.responseHead(200, "10.0.0.1:8000", true).halfClose();
      stream.end();
    }
    Await.await(() -> picker.cells.open.get() == 0);
  }

  /** What a pool's request must not go to is found when it comes; others may come while it waits. */
  @Test
  void workerThatComesMeanwhile_andIsNotThePools_isNotChosen() throws Exception {
    Pool pool = new Pool("default", "p", Map.of(), List.of(8000), Set.of(), Set.of(), 0);
    picker.pools.replace(LivePools.Source.KUBERNETES, new PoolSet(List.of(pool), List.of(), List.of()));
    TestStream stream = picker.stream().head("POST", CHAT, false).body(BODY, true);
    Await.await(turns::hasQueuedThreads);
    picker.cells.worker("stranger", URI.create("http://10.0.0.9:9000"), "m");
    Collections.reverse(picker.cells.workers);

    turns.release(2);
    assertThat(TestStream.set(stream.destined().getHeaderMutation()))
        .containsEntry("x-gateway-destination-endpoint", "10.0.0.1:8000");
    stream.cancel();
    Await.await(() -> picker.cells.open.get() == 0);
  }

  @ParameterizedTest
  @CsvSource({"urgent,INTERACTIVE", "usual,DEFAULT", "batch,BULK", "unknown,DEFAULT"})
  void objective_saysHowUrgentItIs(String objective, ServiceClass expected) throws Exception {
    Pool pool = new Pool("default", "p", Map.of(), List.of(8000), Set.of(), Set.of(), 0);
    picker.pools.replace(
        LivePools.Source.KUBERNETES,
        new PoolSet(
            List.of(pool),
            List.of(),
            List.of(
                new Objective(pool.id(), "urgent", 10), new Objective(pool.id(), "usual", 0),
                new Objective(pool.id(), "batch", -1))));
    turns.release();
    TestStream stream =
        picker.stream()
            .head("POST", CHAT, false, "x-llm-d-inference-objective", objective, "x-kvasir-priority", "7")
            .body(BODY, true);
    stream.destined();

    assertThat(picker.cells.requests.take().claim()).extracting(Claim::serviceClass).isEqualTo(expected);
    stream.cancel();
    Await.await(() -> picker.cells.open.get() == 0);
  }

  @Test
  void priorityOfAClientsOwn_countsForNothing() throws Exception {
    turns.release();
    TestStream stream = picker.stream().head("POST", CHAT, false, "x-kvasir-priority", "7").body(BODY, true);
    stream.destined();

    assertThat(picker.cells.requests.take().claim()).extracting(Claim::serviceClass).isEqualTo(ServiceClass.DEFAULT);
    stream.cancel();
    Await.await(() -> picker.cells.open.get() == 0);
  }

  @Test
  void clientThatLeaves_waitsNoLonger() throws Exception {
    TestStream left = picker.stream().head("POST", CHAT, false).body(BODY, true);
    Await.await(turns::hasQueuedThreads);
    left.cancel();
    Await.await(() -> picker.metric("kvasir_picker_streams_running") == 0);

    turns.release();
    TestStream next = picker.stream().head("POST", CHAT, false).body(BODY, true);
    next.destined();
    assertThat(next.echo()).isEqualTo(BODY);
    next.responseHead(200, "10.0.0.1:8000", true).halfClose();
    next.end();
    Await.await(() -> picker.cells.open.get() == 0);
    assertThat(picker.cells.requests).hasSize(1);
  }

  /** The end of their streams would be a 500 to their clients. */
  @Test
  void requestsThatWaitWhenThePickerStops_areAnswered() throws Exception {
    TestStream waits = picker.stream().head("POST", CHAT, false).body(BODY, true);
    TestStream isOnItsWay = picker.stream().head("POST", CHAT, false).body("{", false);
    Await.await(() -> turns.hasQueuedThreads() && picker.metric("kvasir_picker_streams_running") == 2);
    picker.picker.drain(Duration.ofMillis(1));

    for (TestStream stream : List.of(waits, isOnItsWay)) {
      ImmediateResponse answer = stream.immediate();
      assertThat(answer.getStatus().getCode()).isEqualTo(503);
      assertThat(TestStream.set(answer.getHeaders())).containsKey("retry-after");
      assertThat(answer.getBody().toStringUtf8()).contains("shutting down");
      assertThat(stream.end().isOk()).isTrue();
    }
    Await.await(() -> !turns.hasQueuedThreads() && picker.cells.open.get() == 0);
  }
}
