package io.kvasir.gateway.request;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.json.JsonMapper;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.execution.Call;
import io.kvasir.execution.TokenCounter.CutStream;
import io.kvasir.execution.TokenCounter.TokenCount;
import io.kvasir.http.Cancellation;
import io.kvasir.http.CancellationSource;
import io.kvasir.http.Headers;
import io.kvasir.index.Chain;
import io.kvasir.prompt.Api;
import io.kvasir.prompt.EngineTokenizer;
import io.kvasir.prompt.ModelConfig;
import io.kvasir.prompt.PreparationLimiter.Permit;
import io.kvasir.prompt.PromptMode;
import io.kvasir.prompt.PromptRequest;
import io.kvasir.prompt.PromptSettings;
import io.kvasir.prompt.Prompts;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import io.kvasir.routing.TestFacts;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.TestMetrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a cut stream's tokens cost to count, and that nobody counts for a client that has left. */
@Timeout(60)
final class PromptTokenCounterTest {
  private static final JsonMapper JSON = JsonMapper.builder().build();
  private static final int LARGE = 20 << 10;

  private final PrometheusRegistry registry = new PrometheusRegistry();

  @Test
  void count_ofALargeRequest_waitsForItsTurn() throws Exception {
    Prompts prompts = prompts(PromptMode.EXACT, null);
    CompletableFuture<TokenCount> count;
    try (Permit _ = prompts.limiter().acquire(LARGE, Cancellation.NONE)) {
      count = CompletableFuture.supplyAsync(
          () -> new PromptTokenCounter(prompts).count(stream(LARGE), Cancellation.NONE));
      awaitWaiting(1);
    }

    assertThat(count.join()).isInstanceOfSatisfying(
        TokenCount.Exact.class, exact -> assertThat(exact.text()).isEqualTo(2));
    assertThat(metric("kvasir_preparation_wait_seconds", "prepared")).as("it waits once").isEqualTo(1);
  }

  @Test
  void client_leavesWhileItsTurnIsAwaited_nothingIsCounted() throws Exception {
    Prompts prompts = prompts(PromptMode.EXACT, null);
    CancellationSource client = new CancellationSource();
    try (Permit _ = prompts.limiter().acquire(LARGE, Cancellation.NONE)) {
      CompletableFuture<TokenCount> count =
          CompletableFuture.supplyAsync(() -> new PromptTokenCounter(prompts).count(stream(LARGE), client));
      awaitWaiting(1);
      client.cancel();

      assertThat(count.join()).isEqualTo(new TokenCount.Unknown());
    }
  }

  @Test
  void client_leavesWhileAnEngineCounts_itCountsNoMore() throws Exception {
    CancellationSource client = new CancellationSource();
    AtomicInteger counts = new AtomicInteger();
    Prompts own = prompts(PromptMode.EXACT, null);
    Prompts prompts = prompts(PromptMode.ENGINE, body -> {
      counts.incrementAndGet();
      client.cancel();
      return Objects.requireNonNull(
          own.tokens(new PromptRequest(Api.CHAT, "m", JSON.readTree(body), false, null), () -> { }));
    });

    assertThat(new PromptTokenCounter(prompts).count(stream(10), client)).isEqualTo(new TokenCount.Unknown());

    assertThat(counts).hasValue(1);
  }

  private void awaitWaiting(int count) {
    while (metric("kvasir_preparations_waiting") != count) {
      Thread.onSpinWait();
    }
  }

  private double metric(String name, String... labels) {
    return TestMetrics.sum(registry, name, labels);
  }

  private Prompts prompts(PromptMode mode, @Nullable EngineTokenizer engine) throws IOException {
    ModelConfig model = new ModelConfig(
        "m", Set.of(), 16, mode, ModelConfig.FileSources.in("bundled:kvasir-demo"), Map.of(), 0, false);
    Metrics metrics = new Metrics(mode == PromptMode.EXACT ? registry : new PrometheusRegistry());
    return Prompts.load(
        List.of(model), new PromptSettings(1 << 20, 1, Duration.ofMinutes(1)), _ -> engine, Runnable::run,
        Clock.systemUTC(), NanoClock.SYSTEM, metrics);
  }

  /** A conversation of so many characters, cut after two tokens. */
  private static CutStream stream(int length) {
    String question = "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"" + "a".repeat(length) + "\"}";
    byte[] begun = (question + "]}").getBytes(StandardCharsets.UTF_8);
    byte[] rest = (question + ",{\"role\":\"assistant\",\"content\":\"The time\"}],\"continue_final_message\":true,"
        + "\"add_generation_prompt\":false}").getBytes(StandardCharsets.UTF_8);
    Call call = new Call(
        new DecisionRequest(
            "r", "m", null, RequestShape.TEXT, new DecisionRequest.Prompt(Chain.EMPTY, 1), PreparedSlots.EMPTY, true,
            DecisionRequest.Constraints.NONE),
        TestFacts.of(Map.of()),
        new Call.ClientHttp("POST", "/v1/chat/completions", Headers.of("Content-Type", "application/json"), begun),
        new Call.ResponseRules(true, true, false, true),
        1);
    return new CutStream(call, call.http().target(), rest, List.of("The", " time"), 0);
  }
}
