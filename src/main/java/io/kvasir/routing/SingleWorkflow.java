package io.kvasir.routing;

import java.util.List;
import java.util.Map;

/** The workflow of a profile of stages: one worker does prefill and decode. */
final class SingleWorkflow implements Workflow {
  private final Selector selector;

  SingleWorkflow(Selector selector) {
    this.selector = selector;
  }

  @Override
  public PlanResult plan(PlanningSession session) {
    return switch (session.select(selector, Role.BOTH)) {
      case Selection.Chosen chosen ->
          new PlanResult.PlanFound(
              new RoutingPlan(
                  RoutingPlan.SINGLE_WORKFLOW,
                  RoutingPlan.StepOrder.SEQUENTIAL,
                  List.of(chosen.step(RoutingPlan.WHOLE))),
              List.of(chosen),
              chosen.reason());
      case Selection.None none -> PlanResult.NoPlan.of(none);
    };
  }

  @Override
  public PlanResult replan(PlanningSession session, String step, Map<String, Worker> placed) {
    return plan(session);
  }
}
