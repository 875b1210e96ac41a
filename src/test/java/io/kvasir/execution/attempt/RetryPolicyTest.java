package io.kvasir.execution.attempt;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.Call;
import io.kvasir.execution.ExecutionMetrics;
import io.kvasir.execution.ExecutionSettings;
import io.kvasir.execution.Report;
import io.kvasir.execution.Result;
import io.kvasir.execution.UpstreamRoute;
import io.kvasir.http.Headers;
import io.kvasir.index.Chain;
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

/** {@link RetryPolicy} and the {@link RetryState} it decides on: five tries, 100 ms doubling up to a second. */
final class RetryPolicyTest {
  private static final AttemptResult.Failed FAILED = AttemptResult.Failed.of(FailureKind.ERROR, "status 500", true);
  private static final Worker WORKER = worker("w", "w", 0, 1);

  private final ManualClock clock = new ManualClock();

  @Test
  void pausesGrowUpToTheLongest() {
    RetryPolicy policy = policy(10, 1);
    RetryState state = state(policy);
    for (int millis : new int[] {100, 200, 400, 800}) {
      state = state.withTry(WORKER);
      assertThat(policy.acquireRetry(state, FAILED)).isEqualTo(Duration.ofMillis(millis));
    }
    assertThat(policy.acquireRetry(state.withTry(WORKER), FAILED)).as("five tries").isNull();
  }

  @Test
  void halfOfAPauseIsRandom() {
    RetryPolicy policy = policy(10, 0);
    assertThat(policy.acquireRetry(state(policy).withTry(WORKER), FAILED)).isEqualTo(Duration.ofMillis(50));
  }

  @Test
  void whatIsNotRetryableTakesNothingFromTheBudget() {
    RetryPolicy policy = policy(1, 1);
    RetryState state = state(policy).withTry(WORKER);
    for (int i = 0; i < 100; i++) {
      assertThat(policy.acquireRetry(state, AttemptResult.Failed.of(FailureKind.ERROR, "", false))).isNull();
    }
    assertThat(policy.acquireRetry(state, FAILED)).isNotNull();
  }

  @Test
  void thereIsNoRetryWithoutTimeOrBudget() {
    RetryPolicy policy = policy(0, 1);
    assertThat(policy.acquireRetry(state(policy).withTry(WORKER), FAILED)).isNull();
    assertThat(policy.acquireHedge()).isFalse();

    RetryPolicy rich = policy(10, 1);
    RetryState state = state(rich).withTry(WORKER);
    clock.advance(Duration.ofMillis(59_900));
    assertThat(rich.acquireRetry(state, FAILED)).isNull();
    assertThat(rich.remaining(state)).isEqualTo(Duration.ofMillis(100));
  }

  @Test
  void whatLeavesItsWorkerTakesItsRetryThenAndNotAgain() {
    RetryPolicy policy = policy(1, 1);
    RetryState state = state(policy).withTry(WORKER);
    AttemptResult.Failed stranded = new AttemptResult.Failed(FailureKind.STRANDED, "", true, null);
    int left = 0;
    while (policy.acquireLeaving(state)) {
      left++;
    }
    assertThat(left).as("ten seconds' retries").isEqualTo(10);
    assertThat(policy.acquireRetry(state, FAILED)).isNull();
    for (int i = 0; i < left; i++) {
      assertThat(policy.acquireRetry(state.withFailure(WORKER, stranded), stranded)).isNotNull();
    }

    RetryState twice = state.withFailure(WORKER, stranded).withTry(WORKER).withFailure(WORKER, stranded);
    assertThat(policy.acquireRetry(twice, stranded)).as("may be what hangs its workers").isNull();
    assertThat(policy.acquireLeaving(state)).as("its retry, given back").isTrue();
  }

  @Test
  void whatMayNotBeTriedAgainStaysAtItsWorker() {
    RetryPolicy policy = policy(10, 1);
    RetryState state = state(policy);
    for (int tries = 0; tries < 5; tries++) {
      state = state.withTry(WORKER);
    }
    assertThat(policy.acquireLeaving(state)).isFalse();
  }

  @Test
  void aModelIsUnknownForGoodOnceTwoWorkersHaveSaidSo() {
    RetryPolicy policy = policy(10, 1);
    AttemptResult.Failed refused = new AttemptResult.Failed(FailureKind.CONNECT, "", true, null);
    AttemptResult.Failed unknown = new AttemptResult.Failed(FailureKind.UNKNOWN_MODEL, "", true, null);
    RetryState once = state(policy).withTry(WORKER).withFailure(WORKER, refused)
        .withTry(WORKER).withFailure(WORKER, unknown);
    assertThat(policy.acquireRetry(once, unknown)).as("one of two workers").isNotNull();
    RetryState between = once.withTry(WORKER).withFailure(WORKER, refused);
    assertThat(policy.acquireRetry(between, refused)).isNotNull();
    RetryState twice = between.withTry(WORKER).withFailure(WORKER, unknown);
    assertThat(policy.acquireRetry(twice, unknown)).as("both").isNull();
  }

  @Test
  void aStreamIsResumedWithinTimeAndBudget() {
    RetryPolicy policy = policy(10, 1);
    RetryState state = state(policy);
    assertThat(policy.acquireResume(state)).isNull();
    clock.advance(Duration.ofMinutes(1));
    assertThat(policy.acquireResume(state)).isEqualTo("overdue");
    assertThat(policy.remaining(state)).isPositive();

    RetryPolicy poor = policy(0, 1);
    assertThat(poor.acquireResume(state(poor))).isEqualTo("budget");
  }

  @Test
  void aRequestIsTriedOnOneMoreWorkerAfterItsFirstWasDisconnected() {
    RetryPolicy policy = policy(10, 1);
    AttemptResult.Failed cut = new AttemptResult.Failed(FailureKind.RESET, "", true, null);
    RetryState first = state(policy).withTry(WORKER).withFailure(WORKER, FAILED).withFailure(WORKER, cut);
    assertThat(policy.acquireRetry(first, cut)).isNotNull();
    assertThat(policy.isLastDisconnect(first)).isFalse();
    assertThat(policy.exhausted(first, cut)).isInstanceOf(Result.Unreachable.class);
    assertThat(policy.refusal(state(policy))).isNull();

    RetryState second = first.withTry(WORKER).withFailure(WORKER, cut);
    assertThat(policy.acquireRetry(second, cut)).isNull();
    assertThat(policy.isLastDisconnect(second)).isTrue();
    assertThat(policy.exhausted(second, cut)).isInstanceOfSatisfying(Result.Quarantined.class,
        quarantined -> assertThat(quarantined.report().tries()).isEqualTo(2));
    assertThat(policy.refusal(state(policy))).isInstanceOfSatisfying(Result.Quarantined.class,
        quarantined -> assertThat(quarantined.report().tries()).isZero());
  }

  @Test
  void aStreamCutByASecondWorkerIsNotResumedAndItsRequestGoesIntoQuarantine() {
    RetryPolicy policy = policy(10, 1);
    Report cut = report(1).with(new Outcome.Failed(true, "cut"));
    RetryState once = state(policy).afterTruncation(cut, false);
    assertThat(policy.acquireResume(once)).isNull();
    assertThat(policy.acquireResume(once.afterTruncation(cut, false))).isEqualTo("disconnects");
    assertThat(policy.refusal(state(policy))).isNotNull();
  }

  @Test
  void everyTryHasAnIdOfItsOwn() {
    RetryState state = state(policy(1, 1));
    assertThat(state.nextRequestId()).isEqualTo("r");
    assertThat(state.withTry(WORKER).nextRequestId()).isEqualTo("r-2");
    assertThat(state.withTry(WORKER).withTry(WORKER).nextRequestId()).isEqualTo("r-3");
  }

  @Test
  void aFailedWorkerIsExcludedAndAPodThatCannotBeReachedWithAllItsRanks() {
    RetryState state = state(policy(1, 1));
    Worker rank = worker("pod#1", "pod", 1, 3);
    assertThat(state.excluded()).containsExactly("never");
    assertThat(state.withFailure(rank, FAILED).excluded()).containsExactlyInAnyOrder("never", "pod#1");
    AttemptResult.Failed unreachable = new AttemptResult.Failed(FailureKind.CONNECT, "", true, null);
    assertThat(state.withFailure(rank, unreachable).excluded())
        .containsExactlyInAnyOrder("never", "pod#0", "pod#1", "pod#2");
  }

  @Test
  void theLatestErrorResponseIsTheResultWhenNothingIsLeft() {
    Result.Buffered response = new Result.Buffered(
        new UpstreamRoute(WORKER, null, ""), 500, Headers.EMPTY, new byte[0], report(1));
    AttemptResult.Failed refused = new AttemptResult.Failed(FailureKind.ERROR, "status 500", true, response);
    RetryState state = state(policy(1, 1)).withTry(WORKER).withFailure(WORKER, refused).withFailure(WORKER, FAILED);
    assertThat(state.exhausted(FAILED)).isSameAs(response);
  }

  @Test
  void theTruncatedWorkersRequestGoesOnWithItsCounts() {
    RetryState state =
        state(policy(1, 1)).withTry(WORKER).withFailure(WORKER, FAILED).afterTruncation(report(3), false);
    assertThat(state.tries()).isEqualTo(3);
    assertThat(state.decideNanos()).isEqualTo(77);
    assertThat(state.excluded()).containsExactlyInAnyOrder("never", "w");
    assertThat(state.lastFailure()).isNull();
    assertThat(state.nextRequestId()).isEqualTo("r-4");
  }

  private static Report report(int tries) {
    return new Report(
        WORKER, new Outcome.Failed(false, "cut"), tries, Report.CachePrediction.NONE, Report.TokenUsage.UNKNOWN,
        new Report.Timing(77, 0));
  }

  private RetryPolicy policy(int perSecond, double random) {
    ExecutionSettings.Retries limits =
        new ExecutionSettings.Retries(5, Duration.ofMillis(100), Duration.ofSeconds(1), 2, 0, perSecond);
    ExecutionSettings settings = new ExecutionSettings(
        limits, Duration.ofSeconds(10), Duration.ofSeconds(3), Duration.ofMinutes(1), 1, null, 1);
    return new RetryPolicy(
        settings, new RetryBudget(limits, clock), new ExecutionMetrics(new Metrics(new PrometheusRegistry())), clock,
        () -> random);
  }

  private static RetryState state(RetryPolicy policy) {
    return policy.begin(new Call(
        new DecisionRequest(
            "r", "m", null, RequestShape.TEXT, new DecisionRequest.Prompt(Chain.EMPTY, 1),
            PreparedSlots.EMPTY, true, DecisionRequest.Constraints.excluding(Set.of("never"))),
        RequestFacts.NONE,
        new Call.ClientHttp("POST", "/v1/completions", Headers.EMPTY, new byte[0]),
        new Call.ResponseRules(true, true, false, true),
        0));
  }

  private static Worker worker(String id, String pod, int rank, int ranks) {
    return new Worker(
        id, pod, URI.create("http://pod"), rank, ranks, 0, Role.BOTH, Set.of("m"), Map.of(), 1, "e", null);
  }
}
