package io.kvasir.execution.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.LearntEngines.LearntEngine;
import io.kvasir.execution.Call;
import io.kvasir.execution.ExecutionMetrics;
import io.kvasir.execution.ExecutionSettings;
import io.kvasir.execution.FakeCells;
import io.kvasir.execution.attempt.RetryBudget;
import io.kvasir.execution.attempt.RetryPolicy;
import io.kvasir.http.Headers;
import io.kvasir.index.Chain;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestFacts;
import io.kvasir.routing.RequestShape;
import io.kvasir.routing.Role;
import io.kvasir.routing.Worker;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.ManualClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.net.URI;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class StrandedRequestsTest {
  private static final URI POD = URI.create("http://pod:1");
  private static final String CHAT = "/v1/chat/completions";

  private final ManualClock clock = new ManualClock();
  private final FakeCells cells = new FakeCells();
  private final RetryPolicy retries = new RetryPolicy(
      ExecutionSettings.defaults(), new RetryBudget(ExecutionSettings.defaults().retries(), clock),
      new ExecutionMetrics(new Metrics(new PrometheusRegistry())), clock, () -> 0);
  private final StrandedRequests stranded = new StrandedRequests(cells, retries, clock);

  @Test
  void onlyWhatIsOutOfServiceIsLeft() {
    Worker worker = cells.worker("a", POD, "m");
    cells.worker("b", POD, "m");
    assertThat(leaves(worker)).isFalse();

    cells.setIll("a", true);
    clock.advance(Duration.ofSeconds(1));
    assertThat(leaves(worker)).isTrue();
  }

  @Test
  void withoutAnyoneWhoCouldServe_theyStay() {
    Worker worker = cells.worker("a", "a#0", POD, 0, 2, "m");
    cells.worker("a", "a#1", POD, 1, 2, "m");
    cells.worker("b", POD, "other");
    cells.worker("ill", POD, "m");
    cells.worker("drained", POD, "m");
    cells.splitter("prefill", POD, Role.PREFILL, KvTransfer.Dialect.VLLM_NIXL, "m");
    cells.pods.drained.add("drained");
    cells.setIll("a#0", true);
    cells.setIll("ill", true);
    assertThat(leaves(worker)).isFalse();

    cells.setIll("ill", false);
    clock.advance(Duration.ofSeconds(1));
    assertThat(leaves(worker)).isTrue();
  }

  @Test
  void requestForAnAdapterThatNobodyElseServes_stays() {
    Worker worker = cells.worker("a", POD, "base", "m");
    cells.worker("b", POD, "base");
    cells.setIll("a", true);
    assertThat(leaves(worker)).isFalse();

    cells.worker("c", POD, "m");
    clock.advance(Duration.ofSeconds(1));
    assertThat(leaves(worker)).isTrue();
  }

  @Test
  void requestThatMayGoToNobodyElse_stays() {
    Worker worker = cells.worker("a", POD, "m");
    cells.worker("b", POD, "m");
    cells.setIll("a", true);
    assertThat(leaves(worker, call(CHAT, false, 0, Set.of("b")))).isFalse();
    assertThat(leaves(worker, call(CHAT, false, 0, Set.of("c")))).isTrue();
  }

  @Test
  void engineThatAnswers_andTellsNothingOfItsCache_mayReadALongPrompt() {
    Worker worker = cells.worker("a", POD, "m");
    cells.worker("b", POD, "m");
    cells.wedge("a");
    assertThat(leaves(worker)).isFalse();

    cells.engines.put("a", new LearntEngine("vLLM 0.32", false, true, false, 16, Set.of(), Map.of()));
    clock.advance(Duration.ofSeconds(1));
    assertThat(leaves(worker)).isTrue();
  }

  @Test
  void workersAreLookedAtOnceInASecond() {
    Worker worker = cells.worker("a", POD, "m");
    for (int i = 0; i < 100; i++) {
      clock.advance(Duration.ofMillis(50));
      assertThat(leaves(worker)).isFalse();
    }
    assertThat(cells.looks()).isEqualTo(5);
  }

  @Test
  void streamThatHasBegun_leavesWhereItCanBeContinued() {
    Worker worker = cells.worker("a", POD, "m");
    cells.worker("b", POD, "m");
    cells.setIll("a", true);
    assertThat(begunLeaves(worker, call(CHAT, true, 1))).isTrue();
    assertThat(begunLeaves(worker, call("/v1/messages", true, 1))).isTrue();
    assertThat(begunLeaves(worker, call(CHAT, true, 0))).as("not to be continued").isFalse();
    assertThat(begunLeaves(worker, call(CHAT, false, 1))).as("not a stream").isFalse();
    assertThat(begunLeaves(worker, call("/v1/audio/speech", true, 1))).as("not a text").isFalse();
  }

  private boolean leaves(Worker worker) {
    return leaves(worker, call(CHAT, false, 0));
  }

  private boolean leaves(Worker worker, Call call) {
    return stranded.leaves(worker, retries.begin(call).withTry(worker), false);
  }

  private boolean begunLeaves(Worker worker, Call call) {
    return stranded.leaves(worker, retries.begin(call).withTry(worker), true);
  }

  private static Call call(String target, boolean stream, int maxResumes) {
    return call(target, stream, maxResumes, Set.of());
  }

  private static Call call(String target, boolean stream, int maxResumes, Set<String> excluded) {
    return new Call(
        new DecisionRequest(
            "r", "m", null, RequestShape.TEXT, new DecisionRequest.Prompt(Chain.EMPTY, 1),
            PreparedSlots.EMPTY, stream, DecisionRequest.Constraints.excluding(excluded)),
        RequestFacts.NONE,
        new Call.ClientHttp("POST", target, Headers.EMPTY, new byte[0]),
        new Call.ResponseRules(true, true, false, true),
        maxResumes);
  }
}
