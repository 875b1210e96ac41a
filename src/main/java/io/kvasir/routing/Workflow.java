package io.kvasir.routing;

import java.util.Map;

/**
 * Which workers a request takes: one or more passes of selectors that share one context, so that a later one sees what
 * an earlier one chose. A new pattern of execution is a new workflow, and a {@link WorkflowType} in the registry.
 *
 * <p>A workflow serves one fleet and is called from any number of threads.
 */
public interface Workflow {
  /** Decides who does what, and has their load booked; when it cannot, nothing stays booked. */
  PlanResult plan(PlanningSession passes);

  /**
   * Decides one step anew, its worker having failed.
   *
   * @param step its name; what is planned is this step alone
   * @param placed the workers of the plan's other steps, by name
   */
  PlanResult replan(PlanningSession passes, String step, Map<String, Worker> placed);
}
