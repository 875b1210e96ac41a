package io.kvasir.execution.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.Await;
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
import io.kvasir.http.Headers;
import io.kvasir.http.client.PodClient;
import io.kvasir.http.client.ScriptedPod;
import io.kvasir.index.Chain;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import io.kvasir.routing.Role;
import io.kvasir.routing.TestFacts;
import io.kvasir.routing.Worker;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Workflows in which something fails that must not fail. */
final class WorkflowFaultTest {
  private static final CallListener SILENT = new CallListener() {
    @Override
    public void identified(String answerId, Worker worker) {}

    @Override
    public void firstToken() {}

    @Override
    public void ended(Report report) {}
  };

  private final ActorTestKit kit = ActorTestKit.create();
  private final Metrics metrics = new Metrics(new PrometheusRegistry());
  private final FakeCells cells = new FakeCells();
  private final PodClient pods = new PodClient(PodClient.Settings.defaults(), metrics, NanoClock.SYSTEM);
  private final Dispatcher dispatcher =
      new Dispatcher(kit.system(), cells, pods, ExecutionSettings.defaults(), Map.of(), Warmup.NONE, TokenCounter.NONE,
          (_, _, body) -> body, metrics);
  private final ScriptedPod pod = new ScriptedPod((request, out) -> out.full(400, "application/json", "{}"));

  @AfterEach
  void stop() {
    dispatcher.close();
    pods.close();
    pod.close();
    kit.shutdownTestKit();
  }

  @Test
  void loadThatCannotBeGivenBack_doesNotKeepTheResultFromTheClient() throws Exception {
    cells.splitter("p", pod.url(), Role.PREFILL, KvTransfer.Dialect.VLLM_NIXL, "m");
    cells.splitter("d", pod.url(), Role.DECODE, KvTransfer.Dialect.VLLM_NIXL, "m");
    cells.closing = () -> {
      // That of the step that has not begun, which the workflow gives back itself.
      if (!Thread.currentThread().isVirtual()) {
        throw new IllegalStateException("the cell does not take it");
      }
    };

    Result result = execute(call()).get(20, TimeUnit.SECONDS);

    assertThat(result).isInstanceOfSatisfying(
        Result.Buffered.class, refused -> assertThat(refused.status()).isEqualTo(400));
    Await.await("both loads are given back", () -> cells.open.get() == 0);
    assertThat(cells.closedTwice).hasValue(0);
  }

  private CompletableFuture<Result> execute(Call call) {
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            return dispatcher.execute(call, Cancellation.NONE, SILENT);
          } catch (InterruptedException stopped) {
            throw new IllegalStateException(stopped);
          }
        },
        Executors.newVirtualThreadPerTaskExecutor());
  }

  private static Call call() {
    DecisionRequest decision = new DecisionRequest(
        "r", "m", null, RequestShape.TEXT, new DecisionRequest.Prompt(Chain.EMPTY, 1),
        PreparedSlots.EMPTY, false, DecisionRequest.Constraints.NONE);
    return new Call(
        decision,
        TestFacts.of(Map.of()),
        new Call.ClientHttp(
            "POST", "/v1/completions", Headers.of("Content-Type", "application/json"),
            "{\"model\":\"m\",\"prompt\":\"Once\"}".getBytes(StandardCharsets.UTF_8)),
        new Call.ResponseRules(true, true, false, true),
        0);
  }
}
