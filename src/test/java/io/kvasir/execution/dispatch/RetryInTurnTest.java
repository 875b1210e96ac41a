package io.kvasir.execution.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.Await;
import io.kvasir.admission.Claim;
import io.kvasir.admission.ServiceClass;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
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
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Requests whose worker fails while all others are full. */
final class RetryInTurnTest {
  private static final ExecutionSettings SETTINGS = new ExecutionSettings(
      new ExecutionSettings.Retries(2, Duration.ofMillis(1), Duration.ofMillis(1), 1, 1, 1),
      Duration.ofMinutes(1), Duration.ofMinutes(1), Duration.ofMinutes(1), 1 << 20, null, 10);
  private static final Claim CLAIM = new Claim(ServiceClass.BULK, "t", 1, null, 10, 7);
  private static final String ANSWER = "{\"choices\":[]}";

  private final ActorTestKit kit = ActorTestKit.create();
  private final Metrics metrics = new Metrics(new PrometheusRegistry());
  private final FakeCells cells = new FakeCells();
  private final PodClient pods = new PodClient(PodClient.Settings.defaults(), metrics, NanoClock.SYSTEM);
  private final Dispatcher dispatcher =
      new Dispatcher(kit.system(), cells, pods, SETTINGS, Map.of(), Warmup.NONE, TokenCounter.NONE,
          (_, _, body) -> body, metrics);
  private final ScriptedPod gone = new ScriptedPod((_, _) -> { });
  private final ScriptedPod pod = new ScriptedPod((_, out) -> out.full(200, "application/json", ANSWER));
  private final Semaphore turns = new Semaphore(1);

  /** The first decision chooses a pod that is gone; when there is to be another worker, none has room. */
  @BeforeEach
  void firstFails_othersAreFull() {
    gone.close();
    cells.worker("gone", gone.url(), "m");
    cells.worker("works", pod.url(), "m");
    cells.otherwise = Decision.NoWorkerReason.ALL_FULL;
    cells.turns = turns;
    AtomicInteger decisions = new AtomicInteger();
    cells.deciding = () -> cells.refuse = decisions.incrementAndGet() == 2;
  }

  @AfterEach
  void stop() {
    dispatcher.close();
    pods.close();
    pod.close();
    kit.shutdownTestKit();
  }

  @Test
  void waitsInThePlaceOfItsBeginning_andGoesInItsTurn() throws Exception {
    CompletableFuture<Result> result = execute(CLAIM, Cancellation.NONE);
    DecisionRequest first = cells.requests.take();
    DecisionRequest atOnce = cells.requests.take();
    assertThat(first.claim()).isEqualTo(CLAIM);
    assertThat(atOnce.constraints().excluded()).containsExactly("gone");
    assertThat(result).isNotDone();

    turns.release();

    assertThat(result.join()).isInstanceOfSatisfying(
        Result.Buffered.class, answer -> assertThat(answer.body()).asString(StandardCharsets.UTF_8).isEqualTo(ANSWER));
    DecisionRequest inTurn = cells.requests.take();
    Claim waited = inTurn.claim();
    assertThat(inTurn.claiming(CLAIM)).isEqualTo(atOnce);
    assertThat(waited).isNotNull();
    assertThat(waited.waitedMillis()).isGreaterThanOrEqualTo(CLAIM.waitedMillis());
    assertThat(cells.open).hasValue(0);
  }

  @Test
  void clientThatLeaves_endsTheWait() throws Exception {
    CancellationSource client = new CancellationSource();
    CompletableFuture<Result> result = execute(CLAIM, client);
    Await.await(() -> cells.requests.size() == 2 && cells.waiting.get() == 1);

    client.cancel();

    assertThat(result.join()).isInstanceOf(Result.ClientCancelled.class);
    Await.await(() -> cells.waiting.get() == 0);
    assertThat(cells.requests).hasSize(2);
    assertThat(cells.open).hasValue(0);
  }

  @Test
  void whereNobodyWaits_failsAtOnce() {
    assertThat(execute(null, Cancellation.NONE).join()).isInstanceOf(Result.Unreachable.class);
    assertThat(cells.requests).hasSize(2);
  }

  private CompletableFuture<Result> execute(@Nullable Claim claim, Cancellation client) {
    DecisionRequest decision = new DecisionRequest(
        "r", "m", null, RequestShape.TEXT, new DecisionRequest.Prompt(Chain.EMPTY, 1),
        PreparedSlots.EMPTY, false, DecisionRequest.Constraints.NONE, null, claim);
    String body = "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}";
    Call call = new Call(
        decision,
        TestFacts.of(Map.of()),
        new Call.ClientHttp(
            "POST", "/v1/chat/completions", Headers.of("Content-Type", "application/json"),
            body.getBytes(StandardCharsets.UTF_8)),
        new Call.ResponseRules(true, true, false, true),
        0);
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            return dispatcher.execute(call, client, new Silent());
          } catch (InterruptedException stopped) {
            throw new IllegalStateException(stopped);
          }
        },
        Executors.newVirtualThreadPerTaskExecutor());
  }

  private static final class Silent implements CallListener {
    @Override
    public void identified(String answerId, Worker worker) {}

    @Override
    public void firstToken() {}

    @Override
    public void ended(Report report) {}
  }
}
