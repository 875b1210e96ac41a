package io.kvasir.routing;

import java.util.List;
import java.util.function.Function;

/**
 * A type of workflow that profiles can name.
 *
 * @param name the name in profiles
 * @param parts the steps, each of which a profile decides
 * @param make reads the parameters; called once, at start-up, to check them
 */
public record WorkflowType(String name, List<StepType> parts, Function<Parameters, Composer> make) {
  /**
   * A step of a workflow that a profile decides.
   *
   * @param step the step's name, and the key of its profile in the workflow
   * @param filter name of a filter that the profile must have, empty for none
   * @param reason why the filter is required
   */
  public record StepType(String step, String filter, String reason) {}

  /** A factory of workflows with given parameters. */
  @FunctionalInterface
  public interface Composer {
    /**
     * A workflow for one fleet.
     *
     * @param profile name of the workflow's profile
     * @param selectors makes the selector of a step, given its name; called once for each step
     * @param metrics counters of plans
     */
    Workflow compose(String profile, Function<String, Selector> selectors, RoutingMetrics metrics);
  }
}
