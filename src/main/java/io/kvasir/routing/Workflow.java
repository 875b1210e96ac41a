package io.kvasir.routing;

import java.util.Map;

/**
 * The planning of requests: one or more passes of selectors that share a context, so that a later pass can use the
 * result of an earlier one. A new pattern of execution is a new workflow with a {@link WorkflowType} in the registry.
 *
 * <p>A workflow serves one fleet. Thread-safe.
 */
public interface Workflow {
  /** Plans a request and books its load; without a plan nothing stays booked. */
  PlanResult plan(PlanningSession session);

  /**
   * Plans one step again after its worker has failed.
   *
   * @param step the step's name; the result has this step alone
   * @param placed the workers of the plan's other steps, by step name
   */
  PlanResult replan(PlanningSession session, String step, Map<String, Worker> placed);
}
