package io.kvasir.execution.workflow;

import static io.kvasir.execution.workflow.WorkflowFixture.ABORTED;
import static io.kvasir.execution.workflow.WorkflowFixture.FAILED;
import static io.kvasir.execution.workflow.WorkflowFixture.NOT_RETRYABLE;
import static io.kvasir.execution.workflow.WorkflowFixture.buffered;
import static io.kvasir.execution.workflow.WorkflowFixture.retries;
import static io.kvasir.execution.workflow.WorkflowFixture.streaming;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.Result;
import io.kvasir.execution.attempt.AbortReason;
import io.kvasir.execution.attempt.AttemptResult;
import io.kvasir.execution.attempt.FailureKind;
import io.kvasir.execution.dialect.EngineRequest;
import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.execution.dialect.PrefillResult;
import io.kvasir.routing.FailurePolicy;
import io.kvasir.routing.KvTransfer.Dialect;
import io.kvasir.routing.RoutingPlan;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Every transition of a workflow: without sockets, actors and time. */
final class WorkflowTransitionsTest {
  private static final String WHOLE = RoutingPlan.WHOLE;
  private static final String PREFILL = RoutingPlan.PREFILL;
  private static final String DECODE = RoutingPlan.DECODE;
  private static final String ENCODE = RoutingPlan.ENCODE;
  private static final String[] SPLIT = {"prefill@p0", "decode@d0"};
  private static final String[] ENCODED = {"encode@e0", "prefill@p0", "decode@d0"};

  // A single worker.

  @Test
  void aSingleWorkersResponseIsTheResult() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.VLLM_NIXL).start("whole@w0");
    assertThat(workflow.startedSteps()).containsExactly("whole@w0");
    AttemptResult response = buffered(200);

    workflow.ended(WHOLE, response);

    assertThat(new AttemptResult.Responded(workflow.resultOf())).isEqualTo(response);
    workflow.assertDone();
  }

  @Test
  void aFailureIsRetriedAfterAPauseAtAnotherWorkerUnderAnotherId() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.VLLM_NIXL).start("whole@w0").ended(WHOLE, FAILED);
    assertThat(workflow.effect(WorkflowEffect.Schedule.class).delay()).isEqualTo(Duration.ofMillis(50));

    workflow.elapse();

    WorkflowEffect.Decide decide = workflow.effect(WorkflowEffect.Decide.class);
    assertThat(decide.request().constraints().excluded()).containsExactly("w0");
    workflow.decided("whole@w1");
    assertThat(workflow.startedSteps()).containsExactly("whole@w1");
    assertThat(workflow.started().getFirst().plan().rendezvous().requestId()).isEqualTo("r-2");
    workflow.ended(WHOLE, streaming()).assertDone();
  }

  @Test
  void aRetryWithoutPauseIsDecidedAtOnce() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.VLLM_NIXL)
        .on(new WorkflowEvent.RetryStarted(Duration.ZERO));
    workflow.decided("whole@w1").ended(WHOLE, buffered(200)).assertDone();
  }

  @Test
  void whatIsNotRetryableIsFinal() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.VLLM_NIXL).start("whole@w0").ended(WHOLE, NOT_RETRYABLE);
    assertThat(workflow.resultOf()).isInstanceOfSatisfying(
        Result.Unreachable.class, result -> assertThat(result.why()).isEqualTo("error"));
    workflow.assertDone();
  }

  @Test
  void withoutRetryBudgetTheFirstFailureIsFinal() {
    WorkflowFixture workflow = new WorkflowFixture(Dialect.VLLM_NIXL, retries(5, 0), null);
    workflow.start("whole@w0").ended(WHOLE, FAILED);
    assertThat(workflow.resultOf()).isInstanceOf(Result.Unreachable.class);
    workflow.assertDone();
  }

  @Test
  void theNumberOfTriesIsBounded() {
    WorkflowFixture workflow = new WorkflowFixture(Dialect.VLLM_NIXL, retries(2, 10), null);
    workflow.start("whole@w0").ended(WHOLE, FAILED).elapse().decided("whole@w1").ended(WHOLE, FAILED);
    assertThat(workflow.resultOf()).isInstanceOf(Result.Unreachable.class);
    workflow.assertDone();
  }

  @Test
  void thereIsNoRetryBeyondTheDeadline() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.VLLM_NIXL).start("whole@w0");
    workflow.clock.advance(Duration.ofMinutes(1).minusMillis(20));
    workflow.ended(WHOLE, FAILED);
    assertThat(workflow.resultOf()).isInstanceOf(Result.Unreachable.class);
    workflow.assertDone();
  }

  @Test
  void withoutAnotherWorkerTheLatestErrorResponseIsTheResult() {
    Result.Buffered error = WorkflowFixture.response(500);
    AttemptResult refused = new AttemptResult.Failed(FailureKind.ERROR, "status 500", true, error);
    WorkflowFixture workflow =
        WorkflowFixture.of(Dialect.VLLM_NIXL).start("whole@w0").ended(WHOLE, refused).elapse().noWorker();
    assertThat(workflow.resultOf()).isSameAs(error);
    workflow.assertDone();
  }

  @Test
  void withoutAnyWorkerTheResultSaysSo() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.VLLM_NIXL)
        .on(new WorkflowEvent.RetryStarted(Duration.ZERO)).noWorker();
    assertThat(workflow.resultOf()).isInstanceOf(Result.NoWorker.class);
    workflow.assertDone();
  }

  @Test
  void thePolicyFailIsNotRetried() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.VLLM_NIXL);
    workflow.policies.put(WHOLE, FailurePolicy.FAIL);
    workflow.start("whole@w0").ended(WHOLE, FAILED);
    assertThat(workflow.resultOf()).isInstanceOf(Result.Unreachable.class);
    workflow.assertDone();
  }

  @Test
  void anAbortedAttemptIsTheClientsCancellation() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.VLLM_NIXL).start("whole@w0").ended(WHOLE, ABORTED);
    assertThat(workflow.resultOf()).isInstanceOf(Result.ClientCancelled.class);
    workflow.assertDone();
  }

  // Hedging.

  @Test
  void theFirstOfTwoWinsAndTheSecondIsAborted() {
    WorkflowFixture workflow = hedged();
    StepRun second = workflow.run(WHOLE);
    workflow.ended(first(workflow), 0, streaming(), null);
    assertThat(workflow.effects)
        .contains(new WorkflowEffect.Count.Hedged(false))
        .contains(new WorkflowEffect.Abort(second.id(), AbortReason.NOT_NEEDED));
    workflow.ended(second, 0, streaming(), null).assertDone();
  }

  @Test
  void theSecondOfTwoWinsAndTheFirstIsAborted() {
    WorkflowFixture workflow = hedged();
    StepRun first = first(workflow);
    workflow.ended(workflow.run(WHOLE), 0, buffered(200), null);
    assertThat(workflow.effects)
        .contains(new WorkflowEffect.Count.Hedged(true))
        .contains(new WorkflowEffect.Abort(first.id(), AbortReason.NOT_NEEDED));
    workflow.assertDone();
  }

  @Test
  void whenTheSecondFailsTheFirstGoesOn() {
    WorkflowFixture workflow = hedged();
    StepRun first = first(workflow);
    workflow.ended(workflow.run(WHOLE), 0, FAILED, null);
    assertThat(workflow.effects).isEmpty();
    workflow.ended(first, 0, buffered(200), null).assertDone();
  }

  @Test
  void whenBothFailTheRequestIsRetriedOnce() {
    WorkflowFixture workflow = hedged();
    workflow.ended(first(workflow), 0, FAILED, null).ended(WHOLE, FAILED).elapse();
    assertThat(workflow.effect(WorkflowEffect.Decide.class).request().constraints().excluded())
        .containsExactlyInAnyOrder("w0", "w1");
    workflow.decided("whole@w2").ended(WHOLE, buffered(200)).assertDone();
  }

  @Test
  void aHedgeNeedsAWorkerOfItsOwn() {
    WorkflowFixture workflow = WorkflowFixture.hedging().start("whole@w0").elapse();
    assertThat(workflow.effect(WorkflowEffect.Decide.class).request().constraints().excluded()).containsExactly("w0");
    workflow.noWorker();
    assertThat(workflow.effects).isEmpty();
    workflow.ended(WHOLE, buffered(200)).assertDone();
  }

  @Test
  void aHedgeThatIsDecidedTooLateOrIsSplitIsReleased() {
    WorkflowFixture late = WorkflowFixture.hedging().start("whole@w0").elapse();
    WorkflowEffect.Decide decide = late.effect(WorkflowEffect.Decide.class);
    late.ended(WHOLE, buffered(200)).decided(decide, late.planned("whole@w1")).assertDone();

    WorkflowFixture split = WorkflowFixture.hedging().start("whole@w0").elapse().decided(SPLIT);
    assertThat(split.started()).isEmpty();
    split.ended(WHOLE, buffered(200)).assertDone();
  }

  @Test
  void aHedgeThatIsNotMadeCostsNoRetry() {
    List<Consumer<WorkflowFixture>> ends = List.of(
        WorkflowFixture::noWorker,
        workflow -> workflow.decided(SPLIT),
        workflow -> {
          WorkflowEffect.Decide decide = workflow.effect(WorkflowEffect.Decide.class);
          workflow.ended(WHOLE, buffered(200)).decided(decide, workflow.planned("whole@w1"));
        });
    for (Consumer<WorkflowFixture> end : ends) {
      WorkflowFixture workflow = new WorkflowFixture(Dialect.VLLM_NIXL, retries(5, 1), Duration.ofSeconds(1));
      int left = 0;
      while (workflow.policy.acquireHedge()) {
        left++;
      }
      assertThat(left).isPositive();
      workflow.policy.releaseHedge();

      end.accept(workflow.start("whole@w0").elapse());

      assertThat(workflow.policy.acquireHedge()).as("given back").isTrue();
      assertThat(workflow.policy.acquireHedge()).as("once").isFalse();
    }
  }

  @Test
  void thereIsNoHedgeWithoutBudgetOrForWhatMustNotRunTwiceOrOnceThereIsAResult() {
    WorkflowFixture poor = new WorkflowFixture(Dialect.VLLM_NIXL, retries(5, 0), Duration.ofSeconds(1));
    poor.start("whole@w0").elapse();
    assertThat(poor.effects).isEmpty();

    WorkflowFixture unsafe =
        new WorkflowFixture(Dialect.VLLM_NIXL, retries(5, 10), Duration.ofSeconds(1), false, "{}");
    unsafe.start("whole@w0");
    assertThat(unsafe.effects).hasOnlyElementsOfType(WorkflowEffect.StartStep.class);

    WorkflowFixture split = WorkflowFixture.hedging().start(SPLIT);
    assertThat(split.effects).hasOnlyElementsOfType(WorkflowEffect.StartStep.class);

    WorkflowFixture finished = WorkflowFixture.hedging().start("whole@w0");
    int run = finished.run(WHOLE).id();
    finished.ended(WHOLE, buffered(200)).on(new WorkflowEvent.HedgeDue(run));
    assertThat(finished.effects).isEmpty();
  }

  private static WorkflowFixture hedged() {
    WorkflowFixture workflow = WorkflowFixture.hedging().start("whole@w0").elapse().decided("whole@w1");
    assertThat(workflow.startedSteps()).containsExactly("whole@w1");
    return workflow;
  }

  private static StepRun first(WorkflowFixture workflow) {
    return workflow.state.steps().runs().getFirst();
  }

  // Prefill and decode.

  @Test
  void decodeFollowsPrefillWhereItNeedsItsResponse() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.VLLM_NIXL).start(SPLIT);
    assertThat(workflow.startedSteps()).containsExactly("prefill@p0");

    workflow.prefilled(blocks());

    assertThat(workflow.startedSteps()).containsExactly("decode@d0");
    assertThat(workflow.started().getFirst().work()).isInstanceOf(StepWork.Decode.class);
    workflow.ended(DECODE, streaming()).assertDone();
  }

  @Test
  void decodeStartsBesidePrefillWhereTheEnginesMeet() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.SGLANG).start(SPLIT);
    assertThat(workflow.startedSteps()).containsExactly("prefill@p0", "decode@d0");

    workflow.ended(DECODE, streaming());

    assertThat(workflow.effects).noneMatch(WorkflowEffect.Abort.class::isInstance);
    assertThat(workflow.state.isDone()).isFalse();
    workflow.ended(PREFILL, buffered(200)).assertDone();
  }

  @Test
  void prefillThatFailsAfterTheResultChangesNothing() {
    WorkflowFixture workflow =
        WorkflowFixture.of(Dialect.SGLANG).start(SPLIT).ended(DECODE, streaming()).ended(PREFILL, FAILED);
    workflow.assertDone();
  }

  @Test
  void prefillBesideDecodeMayRespondFirst() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.SGLANG).start(SPLIT).ended(PREFILL, buffered(200));
    assertThat(workflow.state.finished()).isFalse();
    workflow.ended(DECODE, buffered(200)).assertDone();
  }

  @Test
  void decodeComputesThePromptWherePrefillKeptNothing() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.VLLM_NIXL).start(SPLIT)
        .prefilled(new PrefillResult.NoBlocks("kept nothing"));
    assertThat(workflow.effects).contains(new WorkflowEffect.Count.StepSkipped(PREFILL, "kept nothing"));
    assertThat(workflow.startedSteps()).containsExactly("decode@d0");
    assertThat(workflow.reservation("d0").prefillsLocally).isTrue();
    assertThat(workflow.started().getFirst().plan().planned().reason())
        .isEqualTo("because; without prefill: kept nothing");
    workflow.ended(DECODE, buffered(200)).assertDone();
  }

  @Test
  void prefillMayHaveGeneratedEverything() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.VLLM_NIXL).start(SPLIT)
        .prefilled(new PrefillResult.FinalAnswer(new byte[] {9}, false));
    assertThat(workflow.resultOf()).isInstanceOfSatisfying(
        Result.Buffered.class, result -> assertThat(result.body()).containsExactly(9));
    workflow.assertDone();
  }

  @Test
  void whatPrefillRejectsIsTheResult() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.SGLANG).start(SPLIT).ended(PREFILL, buffered(400));
    assertThat(workflow.resultOf()).isInstanceOfSatisfying(
        Result.Buffered.class, result -> assertThat(result.status()).isEqualTo(400));
    workflow.assertDone();
  }

  @Test
  void aStreamWhereTheRouterReadsIsAFailure() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.VLLM_NIXL);
    workflow.policies.put(PREFILL, FailurePolicy.WITHOUT);
    workflow.start(SPLIT).ended(PREFILL, streaming());
    assertThat(workflow.startedSteps()).containsExactly("decode@d0");
    workflow.ended(DECODE, buffered(200)).assertDone();
  }

  /** What the failure of a prefill leads to, by its policy and its dialect. */
  enum Expected { RETRY_STEP, REPLAN, REPLAN_OR_DECODE_ONLY, SKIP, DECODE_ONLY, FAIL }

  private static Stream<Arguments> failedPrefills() {
    List<Arguments> cases = new ArrayList<>();
    for (Dialect dialect : Dialect.values()) {
      for (FailurePolicy policy : FailurePolicy.values()) {
        for (boolean retryable : List.of(true, false)) {
          boolean retries = retryable
              && (policy == FailurePolicy.NEXT_CANDIDATE || policy == FailurePolicy.NEXT_CANDIDATE_THEN_WITHOUT);
          boolean skips = dialect.decodeCanPrefill()
              && (policy == FailurePolicy.WITHOUT || policy == FailurePolicy.NEXT_CANDIDATE_THEN_WITHOUT);
          Expected expected = retries
              ? (!dialect.concurrent() ? Expected.RETRY_STEP
                  : skips ? Expected.REPLAN_OR_DECODE_ONLY : Expected.REPLAN)
              : !skips ? Expected.FAIL
              : dialect.concurrent() ? Expected.DECODE_ONLY : Expected.SKIP;
          cases.add(Arguments.of(dialect, policy, retryable, expected));
        }
      }
    }
    return cases.stream();
  }

  @ParameterizedTest
  @MethodSource("failedPrefills")
  void aFailedPrefillRecoversByItsPolicy(
      Dialect dialect, FailurePolicy policy, boolean retryable, Expected expected) {
    WorkflowFixture workflow = WorkflowFixture.of(dialect);
    workflow.policies.put(PREFILL, policy);
    workflow.start(SPLIT);
    bootstrapped(workflow);

    workflow.ended(PREFILL, retryable ? FAILED : NOT_RETRYABLE);

    switch (expected) {
      case RETRY_STEP -> {
        assertThat(workflow.reservation("d0").closed).as("decode keeps its worker").isEmpty();
        workflow.elapse();
        DecisionRequest request = workflow.effect(WorkflowEffect.Decide.class).request();
        assertThat(request.constraints().replacement())
            .isEqualTo(new DecisionRequest.StepReplacement(PREFILL, Map.of(DECODE, "d0")));
        assertThat(request.constraints().excluded()).containsExactly("p0");
        workflow.decided("prefill@p1");
        assertThat(workflow.started().getFirst().plan().rendezvous().requestId()).isEqualTo("r-2");
        workflow.prefilled(blocks());
        assertThat(workflow.startedSteps()).containsExactly("decode@d0");
      }
      case REPLAN, REPLAN_OR_DECODE_ONLY -> {
        workflow.elapse();
        assertThat(workflow.effect(WorkflowEffect.Decide.class).query())
            .isEqualTo(new DecisionQuery.FullPlan(expected == Expected.REPLAN_OR_DECODE_ONLY, false));
        workflow.decided("prefill@p1", "decode@d1");
        bootstrapped(workflow);
        workflow.ended(PREFILL, buffered(200));
      }
      case SKIP -> {
        assertThat(workflow.startedSteps()).containsExactly("decode@d0");
        assertThat(workflow.reservation("d0").prefillsLocally).isTrue();
      }
      case DECODE_ONLY -> {
        assertThat(workflow.effect(WorkflowEffect.Decide.class).request().constraints().replacement())
            .isEqualTo(new DecisionRequest.StepReplacement(DECODE, Map.of()));
        workflow.decided("decode@d1");
        assertThat(workflow.reservation("d1").prefillsLocally).isTrue();
      }
      case FAIL -> assertThat(workflow.resultOf()).isInstanceOf(Result.Unreachable.class);
    }
    if (expected != Expected.FAIL) {
      for (StepRun run : workflow.state.steps().runs().stream().filter(StepRun::stopped).toList()) {
        workflow.ended(run, 0, ABORTED, null);
      }
      workflow.ended(DECODE, streaming());
    }
    workflow.assertDone();
  }

  private static void bootstrapped(WorkflowFixture workflow) {
    if (workflow.effects.stream().anyMatch(WorkflowEffect.FetchBootstrap.class::isInstance)) {
      workflow.on(new WorkflowEvent.BootstrapReceived(JsonMembers.empty()));
    }
  }

  @Test
  void aReplanWithoutPrefillWorkersFallsBackToDecodeAlone() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.VLLM_PUSH);
    workflow.policies.put(PREFILL, FailurePolicy.NEXT_CANDIDATE_THEN_WITHOUT);
    workflow.start(SPLIT).ended(PREFILL, FAILED).elapse().noWorker();
    assertThat(workflow.effect(WorkflowEffect.Decide.class).query())
        .isEqualTo(new DecisionQuery.DecodeOnly("nobody left"));
    workflow.decided("decode@d1");
    assertThat(workflow.startedSteps()).containsExactly("decode@d1");
    workflow.ended(DECODE, buffered(200)).assertDone();
  }

  @Test
  void aStepWithoutAnotherWorkerIsSkippedWhereItIsOptional() {
    WorkflowFixture optional = WorkflowFixture.of(Dialect.VLLM_NIXL);
    optional.start(SPLIT).ended(PREFILL, FAILED).elapse().noWorker();
    assertThat(optional.startedSteps()).containsExactly("decode@d0");
    optional.ended(DECODE, buffered(200)).assertDone();
  }

  @ParameterizedTest
  @EnumSource(Dialect.class)
  void aFailedDecodeRepeatsPrefill(Dialect dialect) {
    WorkflowFixture workflow = WorkflowFixture.of(dialect).start(SPLIT);
    bootstrapped(workflow);
    if (!dialect.concurrent()) {
      workflow.prefilled(blocks());
    }
    workflow.ended(DECODE, FAILED);
    for (StepRun run : workflow.state.steps().runs()) {
      workflow.ended(run, 0, ABORTED, null);
    }
    workflow.on(new WorkflowEvent.PauseElapsed(new DecisionQuery.FullPlan(false, false)));
    assertThat(workflow.effect(WorkflowEffect.Decide.class).request().constraints().excluded()).containsExactly("d0");
    workflow.decided("prefill@p0", "decode@d1");
    bootstrapped(workflow);
    assertThat(workflow.startedSteps()).startsWith("prefill@p0");
    workflow.on(new WorkflowEvent.CancelRequested()).assertDone();
  }

  @Test
  void whereEveryDecodeWorkerFailedAtTheBlocksOneOfThemComputesThePrompt() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.VLLM_NIXL).start(SPLIT).prefilled(blocks());
    workflow.ended(DECODE, FAILED);
    workflow.on(new WorkflowEvent.PauseElapsed(new DecisionQuery.FullPlan(false, false))).noWorker();

    WorkflowEffect.Decide last = workflow.effect(WorkflowEffect.Decide.class);
    assertThat(last.query()).isEqualTo(new DecisionQuery.LastResort());
    assertThat(last.request().constraints().excluded()).isEmpty();
    assertThat(last.request().shape().divisible()).isFalse();

    workflow.decided("decode@d0").ended(DECODE, FAILED);
    workflow.on(new WorkflowEvent.PauseElapsed(new DecisionQuery.FullPlan(false, true)));
    assertThat(workflow.effect(WorkflowEffect.Decide.class).request().constraints().excluded()).containsExactly("d0");
    workflow.noWorker().assertDone();
  }

  @Test
  void whereAlsoNobodyIsLeftToDecodeAloneThoseThatFailedAtTheBlocksAreAsked() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.VLLM_PUSH);
    workflow.policies.put(PREFILL, FailurePolicy.NEXT_CANDIDATE_THEN_WITHOUT);
    workflow.start(SPLIT).ended(DECODE, FAILED);
    workflow.on(new WorkflowEvent.PauseElapsed(new DecisionQuery.FullPlan(true, false))).noWorker();
    assertThat(workflow.effect(WorkflowEffect.Decide.class).query())
        .isEqualTo(new DecisionQuery.DecodeOnly("nobody left"));
    workflow.noWorker();

    assertThat(workflow.effect(WorkflowEffect.Decide.class).query()).isEqualTo(new DecisionQuery.LastResort());
    workflow.decided("decode@d0");
    for (StepRun run : workflow.state.steps().runs().stream().filter(StepRun::stopped).toList()) {
      workflow.ended(run, 0, ABORTED, null);
    }
    workflow.ended(DECODE, buffered(200)).assertDone();
  }

  @Test
  void aDecodeWorkerThatWaitsForTheBlocksOfAWorkerThatIsGoneIsStopped() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.VLLM_NIXL).start(SPLIT).prefilled(blocks());
    PrefillerWatch watch = workflow.effect(WorkflowEffect.CheckPrefiller.class).watch();
    assertThat(watch.prefiller()).isEqualTo("p0");

    workflow.on(new WorkflowEvent.PrefillerChecked(watch, false));
    PrefillerWatch again = workflow.effect(WorkflowEffect.CheckPrefiller.class).watch();
    assertThat(again.checks()).isEqualTo(watch.checks() - 1);
    workflow.on(new WorkflowEvent.PrefillerChecked(again, true));
    assertThat(workflow.effects)
        .containsExactly(new WorkflowEffect.Abort(watch.run(), AbortReason.PREFILLER_LOST));

    workflow.ended(
        DECODE, new AttemptResult.Failed(FailureKind.TIMEOUT, "gone", true, null));
    workflow.on(new WorkflowEvent.PrefillerChecked(again, true));
    assertThat(workflow.effects).isEmpty();
    workflow.on(new WorkflowEvent.PauseElapsed(new DecisionQuery.FullPlan(false, false))).noWorker();
    workflow.decided("decode@d0").ended(DECODE, buffered(200)).assertDone();
  }

  @Test
  void withoutAStreamThePrefillWorkerIsCheckedFiveTimes() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.VLLM_NIXL).start(SPLIT).prefilled(blocks());
    PrefillerWatch watch = PrefillerWatch.of(
        workflow.effect(WorkflowEffect.CheckPrefiller.class).watch().run(), "p0", false);
    int checks = 0;
    while (watch != null) {
      workflow.on(new WorkflowEvent.PrefillerChecked(watch, false));
      watch = watch.next();
      assertThat(workflow.effects).hasSize(watch == null ? 0 : 1);
      checks++;
    }
    assertThat(checks).isEqualTo(5);
  }

  @Test
  void aDecodeWorkerWhoseConnectionEndedIsNotTriedAgain() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.VLLM_NIXL).start(SPLIT).prefilled(blocks());
    workflow.ended(
        DECODE, new AttemptResult.Failed(FailureKind.RESET, "cut", true, null));
    workflow.on(new WorkflowEvent.PauseElapsed(new DecisionQuery.FullPlan(false, false))).noWorker();
    workflow.assertDone();
  }

  // What cannot be split.

  @Test
  void aRequestThatCannotBeSplitIsServedByDecodeAlone() {
    WorkflowFixture workflow =
        new WorkflowFixture(Dialect.VLLM_NIXL, retries(5, 10), null, true, "{\"prompt\":\"a\",\"n\":2}");
    workflow.start(SPLIT);
    assertThat(workflow.effects).contains(new WorkflowEffect.Count.SplitSkipped("n>1"));
    assertThat(workflow.startedSteps()).containsExactly("decode@d0");
    workflow.ended(DECODE, buffered(200)).assertDone();
  }

  @Test
  void whereDecodeServesNothingAloneASingleWorkerIsDecided() {
    WorkflowFixture workflow = new WorkflowFixture(Dialect.SGLANG, retries(5, 10), null, true, "no JSON");
    workflow.start(SPLIT);
    assertThat(workflow.effects).contains(new WorkflowEffect.Count.SplitSkipped("not JSON"));
    WorkflowEffect.Decide decide = workflow.effect(WorkflowEffect.Decide.class);
    assertThat(decide.query()).isEqualTo(new DecisionQuery.FullPlan(false, true));
    assertThat(decide.request().shape().divisible()).isFalse();

    workflow.decided(SPLIT);

    assertThat(workflow.resultOf()).isInstanceOf(Result.NoWorker.class);
    workflow.assertDone();
  }

  // The bootstrap server.

  @Test
  void prefillWaitsForItsBootstrapServer() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.VLLM_MOONCAKE).start(SPLIT);
    assertThat(workflow.started()).isEmpty();
    assertThat(workflow.effect(WorkflowEffect.FetchBootstrap.class).server().getPath()).isEqualTo("/query");

    workflow.on(new WorkflowEvent.BootstrapReceived(JsonMembers.empty()));

    assertThat(workflow.startedSteps()).containsExactly("prefill@p0", "decode@d0");
    workflow.ended(PREFILL, buffered(200)).ended(DECODE, buffered(200)).assertDone();
  }

  @Test
  void aFailedBootstrapServerIsItsWorkersFailure() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.VLLM_MOONCAKE).start(SPLIT)
        .on(new WorkflowEvent.BootstrapFailed(AttemptResult.Failed.of(FailureKind.BOOTSTRAP, "silent", true)));
    assertThat(workflow.reservation("p0").closed).containsExactly(new Outcome.Failed(false, "silent"));
    assertThat(workflow.effects).anyMatch(WorkflowEffect.InvalidateBootstrap.class::isInstance);

    workflow.elapse();
    assertThat(workflow.effect(WorkflowEffect.Decide.class).request().constraints().excluded()).containsExactly("p0");
    workflow.decided("prefill@p1");
    assertThat(workflow.effects).anyMatch(WorkflowEffect.FetchBootstrap.class::isInstance);
    workflow.on(new WorkflowEvent.BootstrapReceived(JsonMembers.empty()))
        .ended(DECODE, buffered(200)).ended(PREFILL, buffered(200)).assertDone();
  }

  @Test
  void aFailureForgetsTheBootstrapServersResponse() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.VLLM_MOONCAKE).start(SPLIT)
        .on(new WorkflowEvent.BootstrapReceived(JsonMembers.empty())).ended(DECODE, FAILED);
    assertThat(workflow.effects).anyMatch(WorkflowEffect.InvalidateBootstrap.class::isInstance);
    workflow.on(new WorkflowEvent.CancelRequested()).assertDone();
  }

  // Preprocessing.

  @Test
  void preprocessingTakesSeveralRequestsAndChangesTheClientsOwn() {
    WorkflowFixture workflow = encoding(2);
    StepRun run = workflow.run(ENCODE);
    workflow.ended(run, 1, buffered(200), null);
    assertThat(workflow.started()).isEmpty();

    workflow.ended(run, 0, buffered(200), null);

    assertThat(workflow.startedSteps()).containsExactly("prefill@p0");
    PlanState plan = workflow.started().getFirst().plan();
    assertThat(plan.content().changed()).isTrue();
    assertThat(String.valueOf(plan.content().current())).contains("encoded");
    workflow.prefilled(blocks()).ended(DECODE, buffered(200)).assertDone();
  }

  @Test
  void aRequestThatNeedsNoPreprocessingSkipsIt() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.VLLM_NIXL).start(ENCODED);
    Decision.Chosen step = workflow.effect(WorkflowEffect.Preprocess.class).step();
    workflow.on(new WorkflowEvent.PreprocessingReady(step, workflow.state.requirePlan().content().current(),
        List.of()));
    assertThat(workflow.reservation("e0").closed).containsExactly(new Outcome.Cancelled());
    assertThat(workflow.startedSteps()).containsExactly("prefill@p0");
    workflow.prefilled(blocks()).ended(DECODE, buffered(200)).assertDone();
  }

  @Test
  void aFailedPreprocessingAbortsItsOtherRequestsAndIsRetriedAlone() {
    WorkflowFixture workflow = encoding(2);
    StepRun run = workflow.run(ENCODE);
    workflow.ended(run, 0, FAILED, null);
    assertThat(workflow.effects).contains(new WorkflowEffect.Abort(run.id(), AbortReason.NOT_NEEDED));

    workflow.elapse();

    assertThat(workflow.effect(WorkflowEffect.Decide.class).query())
        .isEqualTo(new DecisionQuery.SingleStep(ENCODE));
    workflow.ended(run, 1, ABORTED, null).on(new WorkflowEvent.CancelRequested()).assertDone();
  }

  @Test
  void preprocessingThatIsRejectedIsSkippedWhereThePolicyAllows() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.VLLM_NIXL);
    workflow.policies.put(ENCODE, FailurePolicy.NEXT_CANDIDATE_THEN_WITHOUT);
    encoding(workflow, 1).ended(ENCODE, buffered(400));
    assertThat(workflow.effects).contains(new WorkflowEffect.Count.StepSkipped(ENCODE, "error"));
    assertThat(workflow.startedSteps()).containsExactly("prefill@p0");
    workflow.prefilled(blocks()).ended(DECODE, buffered(200)).assertDone();
  }

  @Test
  void preprocessingThatFailsForGoodFailsTheRequest() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.VLLM_NIXL);
    workflow.policies.put(ENCODE, FailurePolicy.FAIL);
    encoding(workflow, 1).ended(ENCODE, FAILED);
    assertThat(workflow.resultOf()).isInstanceOf(Result.Unreachable.class);
    workflow.assertDone();
  }

  @Test
  void aReplanStartsFromTheClientsOwnRequest() {
    WorkflowFixture workflow = encoding(1).ended(ENCODE, buffered(200)).prefilled(blocks()).ended(DECODE, FAILED);
    workflow.elapse().decided("whole@w0");
    assertThat(workflow.started().getFirst().plan().content().changed()).isFalse();
    workflow.ended(WHOLE, buffered(200)).assertDone();
  }

  private static WorkflowFixture encoding(int messages) {
    return encoding(WorkflowFixture.of(Dialect.VLLM_NIXL), messages);
  }

  private static WorkflowFixture encoding(WorkflowFixture workflow, int messages) {
    workflow.start(ENCODED);
    Decision.Chosen step = workflow.effect(WorkflowEffect.Preprocess.class).step();
    List<EngineRequest> requests = new ArrayList<>();
    for (int i = 0; i < messages; i++) {
      requests.add(new EngineRequest("/v1/chat/completions", new byte[0], Map.of()));
    }
    return workflow.on(new WorkflowEvent.PreprocessingReady(
        step, workflow.state.requirePlan().content().current(), requests));
  }

  // Deadlines.

  @Test
  void aStepThatTakesTooLongIsAborted() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.VLLM_NIXL);
    workflow.deadlines.put(PREFILL, Duration.ofSeconds(3));
    workflow.start(SPLIT);
    assertThat(workflow.effect(WorkflowEffect.Schedule.class).delay()).isEqualTo(Duration.ofSeconds(3));
    int run = workflow.run(PREFILL).id();

    workflow.elapse();

    assertThat(workflow.effects).containsExactly(new WorkflowEffect.Abort(run, AbortReason.STEP_TIMEOUT));
    workflow.ended(PREFILL, new AttemptResult.Failed(FailureKind.TIMEOUT, "slow", true, null)).elapse();
    assertThat(workflow.effect(WorkflowEffect.Decide.class).query())
        .isEqualTo(new DecisionQuery.SingleStep(PREFILL));
    workflow.on(new WorkflowEvent.StepTimedOut(run));
    assertThat(workflow.effects).as("of a run that has ended").isEmpty();
    workflow.on(new WorkflowEvent.CancelRequested()).assertDone();
  }

  // The end in every phase.

  /** A phase of a workflow. */
  enum Phase {
    PAUSE(Dialect.VLLM_NIXL, workflow -> workflow.start("whole@w0").ended(WHOLE, FAILED)),
    DECIDING(Dialect.VLLM_NIXL, workflow -> workflow.on(new WorkflowEvent.RetryStarted(Duration.ZERO))),
    WHOLE_RUNS(Dialect.VLLM_NIXL, workflow -> workflow.start("whole@w0")),
    PREPROCESSING_IS_COMPUTED(Dialect.VLLM_NIXL, workflow -> workflow.start(ENCODED)),
    PREPROCESSING_RUNS(Dialect.VLLM_NIXL, workflow -> encoding(workflow, 2)),
    BOOTSTRAP_IS_FETCHED(Dialect.VLLM_MOONCAKE, workflow -> workflow.start(SPLIT)),
    PREFILL_RUNS(Dialect.VLLM_NIXL, workflow -> workflow.start(SPLIT)),
    PREFILL_IS_REPLACED(Dialect.VLLM_NIXL, workflow -> workflow.start(SPLIT).ended(PREFILL, FAILED).elapse()),
    DECODE_RUNS(Dialect.VLLM_NIXL, workflow -> workflow.start(SPLIT).prefilled(blocks())),
    BOTH_RUN(Dialect.SGLANG, workflow -> workflow.start(SPLIT));

    private final Dialect dialect;
    @SuppressWarnings("ImmutableEnumChecker") // A lambda without state.
    private final Consumer<WorkflowFixture> events;

    Phase(Dialect dialect, Consumer<WorkflowFixture> events) {
      this.dialect = dialect;
      this.events = events;
    }

    WorkflowFixture workflow() {
      WorkflowFixture workflow = WorkflowFixture.of(dialect);
      events.accept(workflow);
      return workflow;
    }
  }

  @ParameterizedTest
  @EnumSource(Phase.class)
  void aClientCancelsInAnyPhase(Phase phase) {
    WorkflowFixture workflow = phase.workflow();
    List<WorkflowEffect> before = workflow.effects;
    workflow.on(new WorkflowEvent.CancelRequested());
    assertThat(workflow.resultOf()).isInstanceOf(Result.ClientCancelled.class);
    assertAborted(workflow, AbortReason.CLIENT_CANCELLED);
    late(workflow, before);
  }

  @ParameterizedTest
  @EnumSource(Phase.class)
  void theDeadlinePassesInAnyPhase(Phase phase) {
    WorkflowFixture workflow = phase.workflow();
    List<WorkflowEffect> before = workflow.effects;
    workflow.on(new WorkflowEvent.DeadlineExceeded());
    assertThat(workflow.resultOf()).isInstanceOfSatisfying(
        Result.Unreachable.class, result -> assertThat(result.timedOut()).isTrue());
    assertAborted(workflow, AbortReason.TOTAL_TIMEOUT);
    late(workflow, before);
  }

  @ParameterizedTest
  @EnumSource(Phase.class)
  void theNodeStopsInAnyPhase(Phase phase) {
    WorkflowFixture workflow = phase.workflow();
    List<WorkflowEffect> before = workflow.effects;
    workflow.on(new WorkflowEvent.NodeStopped());
    assertThat(workflow.results()).hasSize(1);
    assertAborted(workflow, AbortReason.NOT_NEEDED);
    late(workflow, before);
  }

  @ParameterizedTest
  @EnumSource(Phase.class)
  void anInternalErrorEndsAnyPhase(Phase phase) {
    WorkflowFixture workflow = phase.workflow();
    List<WorkflowEffect> before = workflow.effects;
    workflow.on(new WorkflowEvent.InternalFailure(new IllegalStateException("broken")));
    assertThat(workflow.effects).anyMatch(WorkflowEffect.Crash.class::isInstance);
    assertAborted(workflow, AbortReason.NOT_NEEDED);
    late(workflow, before);
  }

  @Test
  void afterTheResultTheDeadlineLeavesPrefillAlone() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.SGLANG).start(SPLIT).ended(DECODE, streaming());
    workflow.on(new WorkflowEvent.DeadlineExceeded());
    assertThat(workflow.effects).isEmpty();
    workflow.on(new WorkflowEvent.CancelRequested());
    assertAborted(workflow, AbortReason.CLIENT_CANCELLED);
    workflow.assertDone();
  }

  @Test
  void aPlanThatStartsAfterTheEndIsReleased() {
    WorkflowFixture workflow = WorkflowFixture.of(Dialect.VLLM_NIXL).on(new WorkflowEvent.CancelRequested());
    workflow.start(SPLIT).on(new WorkflowEvent.RetryStarted(Duration.ZERO));
    assertThat(workflow.effects).isEmpty();
    workflow.assertDone();
  }

  private static void assertAborted(WorkflowFixture workflow, AbortReason reason) {
    for (StepRun run : workflow.state.steps().runs()) {
      assertThat(workflow.effects).contains(new WorkflowEffect.Abort(run.id(), reason));
    }
  }

  /** What was under way before the end arrives after it, and is released. */
  private static void late(WorkflowFixture workflow, List<WorkflowEffect> before) {
    for (WorkflowEffect effect : before) {
      switch (effect) {
        case WorkflowEffect.Decide decide -> workflow.decided(decide, workflow.planned(
            decide.query() instanceof DecisionQuery.SingleStep ? new String[] {"prefill@p9"} : SPLIT));
        case WorkflowEffect.Preprocess preprocess ->
            workflow.on(new WorkflowEvent.PreprocessingReady(preprocess.step(), null, List.of()));
        case WorkflowEffect.FetchBootstrap _ ->
            workflow.on(new WorkflowEvent.BootstrapReceived(JsonMembers.empty()))
                .on(new WorkflowEvent.BootstrapFailed(FAILED));
        case WorkflowEffect.Schedule(Duration _, WorkflowEvent event) -> workflow.on(event);
        default -> { }
      }
    }
    workflow.assertDone();
  }

  private static PrefillResult blocks() {
    return new PrefillResult.KvBlocks(JsonMembers.empty());
  }
}
