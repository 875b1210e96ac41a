package io.kvasir.execution;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.DecisionRequest.Again;
import io.kvasir.routing.RoutingPlan;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** What a workflow asks the cells for. */
sealed interface Question {
  /**
   * Workers for everything.
   *
   * @param orAlone whether, when there are none, a decode worker is to do it alone
   * @param whole whether one worker has to do everything
   */
  record WholePlan(boolean orAlone, boolean whole) implements Question {}

  /** Another worker for one step, the others keeping theirs. */
  record OneStep(String name) implements Question {}

  /** A decode worker that reads the prompt itself. */
  record Alone(String why) implements Question {}

  /** A second worker besides that of {@code first}. */
  record Hedge(StepRun first) implements Question {}

  /** As the cells understand it. */
  default DecisionRequest of(DecisionRequest asked, Set<String> failed, Course course) {
    return switch (this) {
      case WholePlan plan -> (plan.whole() ? asked.whole() : asked).without(failed);
      case OneStep(String name) -> asked.anew(new Again(name, course.placedBeside(name)), failed);
      case Alone _ -> asked.anew(new Again(RoutingPlan.DECODE, Map.of()), failed);
      case Hedge(StepRun first) -> {
        Set<String> all = new HashSet<>(failed);
        all.add(first.chosen().worker().id());
        yield asked.without(all);
      }
    };
  }

  /** What is begun, or gone on with, after the cells' answer; may take long, for it reads the client's request. */
  default Course begun(Call call, Course before, Decision.Planned planned, String id) {
    return switch (this) {
      case WholePlan plan -> Course.of(call, planned, id, before.request(), plan.whole());
      case Hedge _ -> Course.of(call, planned, id, before.request(), false);
      case OneStep _ -> before.with(planned.last(), id);
      case Alone(String why) ->
          Course.of(call, planned, id, before.request(), false).noted("without prefill: " + why);
    };
  }
}
