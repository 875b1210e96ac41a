package io.kvasir.routing;

import java.util.List;
import java.util.Map;

/** One worker does everything: what a profile of stages comes to. */
final class SingleWorkflow implements Workflow {
  static final String NAME = "single";

  private final Selector selector;

  SingleWorkflow(Selector selector) {
    this.selector = selector;
  }

  @Override
  public Planning plan(Passes passes) {
    return switch (passes.select(selector, Role.BOTH)) {
      case Selection.Chosen chosen ->
          new Planning.Made(
              new RoutingPlan(NAME, RoutingPlan.Order.SEQUENTIAL, List.of(chosen.step(RoutingPlan.WHOLE))),
              List.of(chosen),
              chosen.reason());
      case Selection.None none -> Planning.None.of(none);
    };
  }

  @Override
  public Planning again(Passes passes, String step, Map<String, Worker> placed) {
    return plan(passes);
  }
}
