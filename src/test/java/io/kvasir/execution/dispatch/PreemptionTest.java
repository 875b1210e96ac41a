package io.kvasir.execution.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.admission.Claim;
import io.kvasir.admission.ServiceClass;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.Call;
import io.kvasir.execution.CallListener;
import io.kvasir.execution.ExecutionSettings;
import io.kvasir.execution.FakeCells;
import io.kvasir.execution.Report;
import io.kvasir.execution.Result;
import io.kvasir.execution.TokenCounter;
import io.kvasir.execution.Warmup;
import io.kvasir.http.Cancellation;
import io.kvasir.http.CancellationSource;
import io.kvasir.http.Headers;
import io.kvasir.http.client.PodClient;
import io.kvasir.http.client.ScriptedPod;
import io.kvasir.index.Chain;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import io.kvasir.routing.TestFacts;
import io.kvasir.routing.Worker;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Requests that their cell takes back from workers, as the node does that holds them. */
final class PreemptionTest {
  private static final ExecutionSettings SETTINGS = new ExecutionSettings(
      new ExecutionSettings.Retries(1, Duration.ofMillis(1), Duration.ofMillis(1), 1, 1, 1),
      Duration.ofMinutes(1), Duration.ofMinutes(1), Duration.ofMinutes(1), 1 << 20, null, 10);
  private static final String ANSWER = "data: {\"choices\":[{\"delta\":{\"content\":\"H\"}}]}\n\ndata: [DONE]\n\n";

  private final ActorTestKit kit = ActorTestKit.create();
  private final Metrics metrics = new Metrics(new PrometheusRegistry());
  private final FakeCells cells = new FakeCells();
  private final PodClient pods = new PodClient(PodClient.Settings.defaults(), metrics, NanoClock.SYSTEM);
  private final Dispatcher dispatcher =
      new Dispatcher(kit.system(), cells, pods, SETTINGS, Map.of(), Warmup.NONE, TokenCounter.NONE,
          (_, _, body) -> body, metrics);
  private final ScriptedPod pod = new ScriptedPod((request, out) -> out.events().awaitClosed());

  @AfterEach
  void stop() {
    dispatcher.close();
    pods.close();
    pod.close();
    kit.shutdownTestKit();
  }

  @Test
  void takenBackBeforeItsFirstByte_waitsForAnotherTurn_andIsSentAgainAsItWas() throws Exception {
    cells.worker("w", pod.url(), "m");
    Waits waits = new Waits();
    CompletableFuture<Result> result = execute(call(true), Cancellation.NONE, waits);
    DecisionRequest first = cells.requests.take();
    ScriptedPod.ReceivedRequest sent = pod.next();
    pod.script((request, out) -> out.events().chunk(ANSWER).end());

    cells.holders.take().run();

    assertThat(body(result.join())).isEqualTo(ANSWER);
    DecisionRequest second = cells.requests.take();
    assertThat(second).isEqualTo(first.claiming(second.claim()));
    assertThat(second.claim()).isEqualTo(claim(1).preempted(waits.waitedMillis.get()));
    ScriptedPod.ReceivedRequest again = pod.next();
    assertThat(again.body()).isEqualTo(sent.body());
    assertThat(again.headers().first("X-Request-Id")).isEqualTo("r-2");
    assertThat(cells.outcomes.take()).isInstanceOf(Outcome.Preempted.class);
    assertThat(cells.outcomes.take()).isInstanceOf(Outcome.Completed.class);
    assertThat(cells.open).hasValue(0);
    assertThat(waits.report).isNotNull().returns(1, Report::tries);
  }

  @Test
  void clientThatLeaves_afterItWasTakenBack_isNotDecidedAgain() throws Exception {
    cells.worker("w", pod.url(), "m");
    CancellationSource client = new CancellationSource();
    CompletableFuture<Result> result = execute(call(true), client, new Waits());
    pod.next();
    client.cancel();
    cells.holders.take().run();

    assertThat(result.join()).isInstanceOf(Result.ClientCancelled.class);
    assertThat(cells.requests).hasSize(1);
    assertThat(cells.open).hasValue(0);
  }

  @Test
  void whatMustNotBeSentTwice_isNotOfferedToBeTakenBack() throws Exception {
    cells.worker("w", pod.url(), "m");
    pod.script((request, out) -> out.events().chunk(ANSWER).end());

    assertThat(body(execute(call(false), Cancellation.NONE, new Waits()).join())).isEqualTo(ANSWER);

    assertThat(cells.requests.take().claim()).isEqualTo(claim(0));
  }

  /** Whoever is first: the answer is whole, its bytes come once, and every booking is closed with what was. */
  @Test
  void firstByteAgainstTakingBack_oneOfThemWins() throws Exception {
    cells.worker("w", pod.url(), "m");
    for (int round = 0; round < 300; round++) {
      CyclicBarrier start = new CyclicBarrier(2);
      boolean streams = round % 2 == 0;
      pod.script((request, out) -> {
        pod.script((_, again) -> again.events().chunk(ANSWER).end());
        if (streams) {
          out.events();
        }
        await(start);
        if (streams) {
          out.chunk(ANSWER).end();
        } else {
          out.full(200, "text/event-stream", ANSWER);
        }
      });
      CompletableFuture<Result> result = execute(call(true), Cancellation.NONE, new Waits());
      Runnable preempt = cells.holders.take();
      pod.next();
      await(start);
      preempt.run();

      assertThat(body(result.join())).isEqualTo(ANSWER);
      List<Outcome> outcomes = new ArrayList<>();
      cells.outcomes.drainTo(outcomes);
      boolean was = outcomes.getFirst() instanceof Outcome.Preempted;
      assertThat(outcomes).hasSize(was ? 2 : 1).last().isInstanceOf(Outcome.Completed.class);
      assertThat(pod.seen).hasSize(was ? 1 : 0);
      pod.seen.clear();
      cells.holders.clear();
      // It is over, or its answer has begun: nothing is left to be taken back.
      preempt.run();
    }
    assertThat(cells.open).hasValue(0);
    assertThat(cells.closedTwice).hasValue(0);
  }

  private static void await(CyclicBarrier barrier) throws IOException {
    try {
      barrier.await();
    } catch (Exception broken) {
      throw new IOException(broken);
    }
  }

  private CompletableFuture<Result> execute(Call call, Cancellation client, CallListener listener) {
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            return dispatcher.execute(call, client, listener);
          } catch (InterruptedException stopped) {
            throw new IllegalStateException(stopped);
          }
        },
        Executors.newVirtualThreadPerTaskExecutor());
  }

  private static String body(Result result) throws IOException {
    if (result instanceof Result.Buffered whole) {
      return new String(whole.body(), StandardCharsets.UTF_8);
    }
    assertThat(result).isInstanceOf(Result.Streaming.class);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    ((Result.Streaming) result).body().run((from, offset, length) -> bytes.write(from, offset, length));
    return bytes.toString(StandardCharsets.UTF_8);
  }

  private static Claim claim(int mostPreemptions) {
    return new Claim(ServiceClass.BULK, "t", 1, null, 10, 0).preemptible(mostPreemptions);
  }

  private static Call call(boolean repeatable) {
    DecisionRequest decision = new DecisionRequest(
        "r", "m", null, RequestShape.TEXT, new DecisionRequest.Prompt(Chain.EMPTY, 1),
        PreparedSlots.EMPTY, true, DecisionRequest.Constraints.NONE, null, claim(1));
    String body = "{\"model\":\"m\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}";
    return new Call(
        decision,
        TestFacts.of(Map.of()),
        new Call.ClientHttp(
            "POST", "/v1/chat/completions", Headers.of("Content-Type", "application/json"),
            body.getBytes(StandardCharsets.UTF_8)),
        new Call.ResponseRules(repeatable, true, false, true),
        0);
  }

  /** Keeps what a client sees of the wait. */
  private static final class Waits implements CallListener {
    final AtomicLong waitedMillis = new AtomicLong();
    volatile @Nullable Report report;

    @Override
    public void waited(long millis) {
      waitedMillis.set(millis);
    }

    @Override
    public void identified(String answerId, Worker worker) {}

    @Override
    public void firstToken() {}

    @Override
    public void ended(Report ended) {
      report = ended;
    }
  }
}
