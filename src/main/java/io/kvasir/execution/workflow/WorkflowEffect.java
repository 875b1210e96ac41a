package io.kvasir.execution.workflow;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.Result;
import io.kvasir.execution.attempt.AbortReason;
import io.kvasir.execution.attempt.RetryState;
import java.net.URI;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Something a {@link WorkflowTransitions} requires to be done; the {@link WorkflowActor} does it. */
sealed interface WorkflowEffect {
  /**
   * Has the cells decide; {@link WorkflowEvent.DecisionReceived} follows.
   *
   * @param request the query as the cells understand it
   * @param before the plan so far, null before the first
   * @param requestId {@code X-Request-Id} of the next try
   */
  record Decide(DecisionQuery query, DecisionRequest request, @Nullable PlanState before, String requestId)
      implements WorkflowEffect {}

  /** Computes a preprocessing step's messages; {@link WorkflowEvent.PreprocessingReady} follows. */
  record Preprocess(PlanState plan, Decision.Chosen step) implements WorkflowEffect {}

  /** Reads a prefill engine's bootstrap server; an event with its response, or that it failed, follows. */
  record FetchBootstrap(URI server) implements WorkflowEffect {}

  /** Forgets a bootstrap server's response: a request that used it has failed. */
  record InvalidateBootstrap(URI server) implements WorkflowEffect {}

  /** Starts the requests of a run; {@link WorkflowEvent.RequestEnded} follows for each of them. */
  record StartStep(PlanState plan, StepRun run, StepWork work, RetryState retries) implements WorkflowEffect {}

  /** Aborts the requests of a run. */
  record Abort(int run, AbortReason reason) implements WorkflowEffect {}

  /** Releases a streaming response that will not be relayed. */
  record AbandonResponse(int run, int request) implements WorkflowEffect {}

  /** Closes the reservation of a step that has not started. */
  record Release(Decision.Chosen step, Outcome outcome) implements WorkflowEffect {}

  /** Books the prompt's load on a worker that computes it although another was to. */
  record PrefillLocally(Decision.Chosen step) implements WorkflowEffect {}

  /** Checks a decode run's prefill worker a moment later; {@link WorkflowEvent.PrefillerChecked} follows. */
  record CheckPrefiller(PrefillerWatch watch) implements WorkflowEffect {}

  /** Delivers an event after a delay. */
  record Schedule(Duration delay, WorkflowEvent event) implements WorkflowEffect {}

  /** Gives the client its result. */
  record Finish(Result result, RetryState retries) implements WorkflowEffect {}

  /** Fails the client's request. */
  record Crash(Throwable cause) implements WorkflowEffect {}

  /** Something operators count. */
  sealed interface Count extends WorkflowEffect {
    /** A request of a plan with several steps has ended. */
    record RequestEnded(String dialect, String step, String outcome) implements Count {}

    /** A plan's prefill is left out because the request cannot be split. */
    record SplitSkipped(String why) implements Count {}

    /** A step failed and the plan goes on without it. */
    record StepSkipped(String step, String why) implements Count {}

    /** A hedged request has its response; {@code won} when the second worker was faster. */
    record Hedged(boolean won) implements Count {}
  }
}
