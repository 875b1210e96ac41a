package io.kvasir.execution.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

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
import io.kvasir.http.Headers;
import io.kvasir.http.StreamingBody;
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
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A streamed answer that nobody runs gives everything back when it is abandoned. */
final class AbandonedBodyTest {
  private static final ExecutionSettings SETTINGS = new ExecutionSettings(
      new ExecutionSettings.Retries(1, Duration.ofMillis(1), Duration.ofMillis(1), 1, 1, 1),
      Duration.ofMinutes(1), Duration.ofMinutes(1), Duration.ofMinutes(1), 1 << 20, null, 10);

  private final ActorTestKit kit = ActorTestKit.create();
  private final Metrics metrics = new Metrics(new PrometheusRegistry());
  private final FakeCells cells = new FakeCells();
  private final PodClient pods = new PodClient(PodClient.Settings.defaults(), metrics, NanoClock.SYSTEM);
  private final Dispatcher dispatcher =
      new Dispatcher(kit.system(), cells, pods, SETTINGS, Map.of(), Warmup.NONE, TokenCounter.NONE,
          (_, _, body) -> body, metrics);
  private final CompletableFuture<Void> cut = new CompletableFuture<>();
  private final ScriptedPod pod = new ScriptedPod((request, out) -> {
    out.events().chunk("data: {\"choices\":[{\"delta\":{\"content\":\"H\"}}]}\n\n").awaitClosed();
    cut.complete(null);
  });

  @AfterEach
  void stop() {
    dispatcher.close();
    pods.close();
    pod.close();
    kit.shutdownTestKit();
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void abandonedBody_givesBackTheReservationAndTheConnection_once(int maxResumes) throws Exception {
    cells.worker("w", pod.url(), "m");
    List<Report> ends = new CopyOnWriteArrayList<>();
    Result result = dispatcher.execute(call(maxResumes), Cancellation.NONE, new Ends(ends));

    assertThat(result).isInstanceOf(Result.Streaming.class);
    assertThat(cells.open).hasValue(1);
    StreamingBody body = ((Result.Streaming) result).body();
    body.abandon();
    body.abandon();

    assertThat(cells.outcome()).isInstanceOf(Outcome.Cancelled.class);
    assertThat(cells.open).hasValue(0);
    assertThat(cells.closedTwice).hasValue(0);
    assertThat(ends).singleElement().satisfies(end -> assertThat(end.outcome()).isInstanceOf(Outcome.Cancelled.class));
    cut.get(60, TimeUnit.SECONDS);
  }

  private static Call call(int maxResumes) {
    DecisionRequest decision = new DecisionRequest(
        "r", "m", null, RequestShape.TEXT, new DecisionRequest.Prompt(Chain.EMPTY, 1),
        PreparedSlots.EMPTY, true, DecisionRequest.Constraints.NONE);
    String body = "{\"model\":\"m\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}";
    return new Call(
        decision,
        TestFacts.of(Map.of()),
        new Call.ClientHttp(
            "POST", "/v1/chat/completions", Headers.of("Content-Type", "application/json"),
            body.getBytes(StandardCharsets.UTF_8)),
        new Call.ResponseRules(true, true, false, true),
        maxResumes);
  }

  /** Keeps the reports of streams that ended. */
  private record Ends(List<Report> reports) implements CallListener {
    @Override
    public void identified(String answerId, Worker worker) {}

    @Override
    public void firstToken() {}

    @Override
    public void ended(Report report) {
      reports.add(report);
    }
  }
}
