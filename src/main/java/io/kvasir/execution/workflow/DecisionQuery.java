package io.kvasir.execution.workflow;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.DecisionRequest.StepReplacement;
import io.kvasir.execution.Call;
import io.kvasir.execution.dialect.ClientRequest;
import io.kvasir.routing.RoutingPlan;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What a workflow needs decided by the cells. */
sealed interface DecisionQuery {
  /** Note of a plan without prefill, as everybody failed who was to receive the KV blocks that a prefill made. */
  String WITHOUT_BLOCKS = "without prefill: its KV blocks were not received";

  /**
   * Workers for every step.
   *
   * @param orDecodeOnly whether, when there are none, a decode worker is to serve the request alone
   * @param singleWorker whether one worker has to serve the request
   */
  record FullPlan(boolean orDecodeOnly, boolean singleWorker) implements DecisionQuery {}

  /** Another worker for one step, the others keeping theirs. */
  record SingleStep(String name) implements DecisionQuery {}

  /** A decode worker that computes the prompt itself. */
  record DecodeOnly(String why) implements DecisionQuery {}

  /** One worker that computes the prompt itself, where all failed that were to receive its KV blocks. */
  record LastResort() implements DecisionQuery {}

  /** A second worker beside the one of the run {@code first}. */
  record Hedge(int first, String worker) implements DecisionQuery {}

  /** Whether the request waits for its turn where all workers are full: nothing of it runs, or is booked. */
  default boolean waitsForTurn() {
    return switch (this) {
      case FullPlan _, DecodeOnly _, LastResort _ -> true;
      case SingleStep _, Hedge _ -> false;
    };
  }

  /**
   * The query as the cells understand it.
   *
   * @param original the request's first
   * @param excluded ids of workers that must not be chosen
   * @param plan the plan so far, null before the first
   */
  default DecisionRequest toRequest(DecisionRequest original, Set<String> excluded, @Nullable PlanState plan) {
    return switch (this) {
      case FullPlan full -> (full.singleWorker() ? original.onSingleWorker() : original).without(excluded);
      case SingleStep(String name) ->
          original.replacing(
              new StepReplacement(name, Objects.requireNonNull(plan).workersOfOtherSteps(name)), excluded);
      case LastResort _ -> original.onSingleWorker().without(excluded);
      case DecodeOnly _ -> original.replacing(new StepReplacement(RoutingPlan.DECODE, Map.of()), excluded);
      case Hedge(int _, String worker) -> {
        Set<String> all = new HashSet<>(excluded);
        all.add(worker);
        yield original.without(all);
      }
    };
  }

  /** The plan after the cells' decision; may take long, for it may parse the client's request. */
  default PlanState toPlan(Call call, @Nullable PlanState before, Decision.Planned planned, String requestId) {
    ClientRequest known = before == null ? null : before.content().original();
    return switch (this) {
      case FullPlan full -> PlanState.of(call, planned, requestId, known, full.singleWorker());
      case Hedge _ -> PlanState.of(call, planned, requestId, known, false);
      case SingleStep _ -> Objects.requireNonNull(before).with(planned.last(), requestId);
      case DecodeOnly(String why) ->
          PlanState.of(call, planned, requestId, known, false).withNote("without prefill: " + why);
      case LastResort _ -> PlanState.of(call, planned, requestId, known, true).withNote(WITHOUT_BLOCKS);
    };
  }
}
