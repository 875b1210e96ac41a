package io.kvasir.routing;

import java.util.List;

/**
 * What routing decided, as data: steps in the order their workers were chosen. A request served by
 * aggregated workers has one step; prefill and decode apart have two.
 */
public record RoutingPlan(List<Step> steps) {
  /** A plan of at least one step. */
  public RoutingPlan {
    if (steps.isEmpty()) {
      throw new IllegalArgumentException("a plan has at least one step");
    }
    steps = List.copyOf(steps);
  }

  /**
   * One worker's part.
   *
   * @param role what it is to do
   * @param worker who does it; its load is booked
   * @param alternatives who would have been next, best first; nothing is booked on them
   * @param onFailure what to do when it fails
   */
  public record Step(Role role, Worker worker, List<Worker> alternatives, FailurePolicy onFailure) {}
}
