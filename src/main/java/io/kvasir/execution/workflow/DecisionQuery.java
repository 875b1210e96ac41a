package io.kvasir.execution.workflow;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.DecisionRequest.StepReplacement;
import io.kvasir.execution.Call;
import io.kvasir.routing.RoutingPlan;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** What a workflow asks the cells for. */
sealed interface DecisionQuery {
  /**
   * Workers for everything.
   *
   * @param orDecodeOnly whether, when there are none, a decode worker is to do it alone
   * @param singleWorker whether one worker has to do everything
   */
  record FullPlan(boolean orDecodeOnly, boolean singleWorker) implements DecisionQuery {}

  /** Another worker for one step, the others keeping theirs. */
  record SingleStep(String name) implements DecisionQuery {}

  /** A decode worker that reads the prompt itself. */
  record DecodeOnly(String why) implements DecisionQuery {}

  /** A second worker besides that of {@code first}. */
  record Hedge(StepRun first) implements DecisionQuery {}

  /** As the cells understand it. */
  default DecisionRequest toRequest(DecisionRequest asked, Set<String> failed, WorkflowState course) {
    return switch (this) {
      case FullPlan plan -> (plan.singleWorker() ? asked.onSingleWorker() : asked).without(failed);
      case SingleStep(String name) ->
          asked.replacing(new StepReplacement(name, course.workersOfOtherSteps(name)), failed);
      case DecodeOnly _ -> asked.replacing(new StepReplacement(RoutingPlan.DECODE, Map.of()), failed);
      case Hedge(StepRun first) -> {
        Set<String> all = new HashSet<>(failed);
        all.add(first.chosen().worker().id());
        yield asked.without(all);
      }
    };
  }

  /** What is begun, or gone on with, after the cells' answer; may take long, for it reads the client's request. */
  default WorkflowState nextState(Call call, WorkflowState before, Decision.Planned planned, String id) {
    return switch (this) {
      case FullPlan plan -> WorkflowState.of(call, planned, id, before.request(), plan.singleWorker());
      case Hedge _ -> WorkflowState.of(call, planned, id, before.request(), false);
      case SingleStep _ -> before.with(planned.last(), id);
      case DecodeOnly(String why) ->
          WorkflowState.of(call, planned, id, before.request(), false).withNote("without prefill: " + why);
    };
  }
}
