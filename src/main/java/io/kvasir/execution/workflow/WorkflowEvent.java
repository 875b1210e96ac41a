package io.kvasir.execution.workflow;

import io.kvasir.cell.Decision;
import io.kvasir.execution.attempt.AttemptResult;
import io.kvasir.execution.dialect.ClientRequest;
import io.kvasir.execution.dialect.EngineRequest;
import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.execution.dialect.PrefillResult;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** An event in the life of one workflow. */
sealed interface WorkflowEvent {
  /** The workflow begins with a plan, whose load is booked. */
  record PlanStarted(PlanState plan) implements WorkflowEvent {}

  /** The workflow begins after a worker's failure; the next plan is decided after a pause. */
  record RetryStarted(Duration pause) implements WorkflowEvent {}

  /** The client cancelled the request. */
  record CancelRequested() implements WorkflowEvent {}

  /** The request's deadline has passed. */
  record DeadlineExceeded() implements WorkflowEvent {}

  /** The node shuts down. */
  record NodeStopped() implements WorkflowEvent {}

  /** The pause before a query is over. */
  record PauseElapsed(DecisionQuery query) implements WorkflowEvent {}

  /** A run has taken so long that a second worker may be tried. */
  record HedgeDue(int run) implements WorkflowEvent {}

  /** A step's own deadline has passed. */
  record StepTimedOut(int run) implements WorkflowEvent {}

  /** A decode run's prefill worker was checked: it is lost when it has been removed or cannot be reached. */
  record PrefillerChecked(PrefillerWatch watch, boolean lost) implements WorkflowEvent {}

  /**
   * The cells have decided.
   *
   * @param nanos how long that took
   * @param plan the plan to go on with, null without workers
   */
  record DecisionReceived(DecisionQuery query, Decision decision, long nanos, @Nullable PlanState plan)
      implements WorkflowEvent {}

  /**
   * The messages of a preprocessing step are known.
   *
   * @param request the client's request as later steps are to see it, null when it is not JSON
   * @param messages the messages for the step's worker, empty when the request needs none
   */
  record PreprocessingReady(Decision.Chosen step, @Nullable ClientRequest request, List<EngineRequest> messages)
      implements WorkflowEvent {}

  /** The prefill engine's bootstrap server has responded. */
  record BootstrapReceived(JsonMembers response) implements WorkflowEvent {}

  /** The prefill engine's bootstrap server has failed. */
  record BootstrapFailed(AttemptResult.Failed failure) implements WorkflowEvent {}

  /**
   * One request of a run has ended.
   *
   * @param request its number within the run
   * @param prefillResult what the response means for decode, null where it means nothing
   */
  record RequestEnded(int run, int request, AttemptResult result, @Nullable PrefillResult prefillResult)
      implements WorkflowEvent {}

  /** A computation failed that must not fail. */
  record InternalFailure(Throwable cause) implements WorkflowEvent {}
}
