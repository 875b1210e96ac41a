package io.kvasir.execution.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.Call;
import io.kvasir.execution.CallListener;
import io.kvasir.execution.ExecutionMetrics;
import io.kvasir.execution.ExecutionSettings;
import io.kvasir.execution.Report;
import io.kvasir.execution.attempt.RetryBudget;
import io.kvasir.execution.attempt.RetryPolicy;
import io.kvasir.http.Headers;
import io.kvasir.index.Chain;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestFacts;
import io.kvasir.routing.RequestShape;
import io.kvasir.routing.Role;
import io.kvasir.routing.Worker;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.ManualClock;
import io.kvasir.time.ManualTimer;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class DeathWatchTest {
  private static final Outcome CUT = new Outcome.Failed(true, "cut");

  private final ManualClock clock = new ManualClock();
  private final ManualTimer timer = new ManualTimer(clock);
  private final Set<String> down = new HashSet<>();
  private final RetryPolicy policy = policy();
  private final DeathWatch watch = new DeathWatch(policy, down::contains, timer);

  @Test
  void streamsCutByTwoWorkersThatDied_putTheirRequestIntoQuarantine() {
    streamed("a", "w1", CUT);
    down.add("w1");
    timer.advance(DeathWatch.DELAY);
    assertThat(refused("a")).isFalse();

    streamed("a", "w2", CUT);
    down.add("w2");
    assertThat(refused("a")).as("not known yet").isFalse();
    timer.advance(DeathWatch.DELAY);
    assertThat(refused("a")).isTrue();
    assertThat(refused("b")).isFalse();
  }

  @Test
  void streamsCutByWorkersThatAreAlive_proveNothing() {
    for (int i = 0; i < 5; i++) {
      streamed("a", "w" + i, CUT);
      timer.advance(DeathWatch.DELAY);
    }
    assertThat(refused("a")).isFalse();
  }

  @Test
  void otherEnds_areNotWatched() {
    for (Outcome outcome : List.of(
        new Outcome.Failed(false, "no end"), new Outcome.Cancelled(), new Outcome.Completed(1, 0, 1, 1))) {
      streamed("a", "w", outcome);
    }
    assertThat(timer.pending()).isZero();
  }

  @Test
  void watchedRequests_areBounded() {
    for (int i = 0; i < 5000; i++) {
      streamed("r" + i, "w", CUT);
    }
    assertThat(timer.pending()).isEqualTo(1024);
    timer.advance(DeathWatch.DELAY);
    streamed("next", "w", CUT);
    assertThat(timer.pending()).isEqualTo(1);
  }

  private void streamed(String body, String worker, Outcome outcome) {
    List<Report> ends = new ArrayList<>();
    Report report = report(worker, outcome);
    watch.listener(call(body), new CallListener() {
      @Override
      public void identified(String answerId, Worker by) {}

      @Override
      public void firstToken() {}

      @Override
      public void ended(Report end) {
        ends.add(end);
      }
    }).ended(report);
    assertThat(ends).containsExactly(report);
  }

  private boolean refused(String body) {
    return policy.refusal(policy.begin(call(body))) != null;
  }

  private RetryPolicy policy() {
    ExecutionSettings settings = ExecutionSettings.defaults();
    return new RetryPolicy(
        settings, new RetryBudget(settings.retries(), clock),
        new ExecutionMetrics(new Metrics(new PrometheusRegistry())), clock, () -> 1);
  }

  private static Report report(String worker, Outcome outcome) {
    return new Report(
        new Worker(
            worker, worker, URI.create("http://pod"), 0, 1, 0, Role.BOTH, Set.of("m"), Map.of(), 1, "e", null),
        outcome, 1, Report.CachePrediction.NONE, Report.TokenUsage.UNKNOWN, new Report.Timing(0, 0));
  }

  private static Call call(String body) {
    return new Call(
        new DecisionRequest(
            "r", "m", null, RequestShape.TEXT, new DecisionRequest.Prompt(Chain.EMPTY, 1), PreparedSlots.EMPTY, true,
            DecisionRequest.Constraints.NONE),
        RequestFacts.NONE,
        new Call.ClientHttp("POST", "/v1/completions", Headers.EMPTY, body.getBytes(StandardCharsets.UTF_8)),
        new Call.ResponseRules(true, true, false, true),
        0);
  }
}
