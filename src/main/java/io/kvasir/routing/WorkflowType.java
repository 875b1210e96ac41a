package io.kvasir.routing;

import java.util.List;
import java.util.function.Function;

/**
 * A kind of workflow as profiles name it.
 *
 * @param name as profiles write it
 * @param parts the steps that are decided by profiles of their own, under the steps' names
 * @param make reads the parameters; called once, at start-up, and proves them
 */
public record WorkflowType(String name, List<StepType> parts, Function<Parameters, Composer> make) {
  /**
   * A step that a profile decides.
   *
   * @param step its name, and the key under which the workflow names the profile
   * @param filter what that profile has to filter by, empty for nothing in particular
   * @param otherwise what would happen without
   */
  public record StepType(String step, String filter, String otherwise) {}

  /** Makes workflows for fleets from the parameters that were read. */
  @FunctionalInterface
  public interface Composer {
    /**
     * A workflow for one fleet.
     *
     * @param profile name of the profile it is made for
     * @param selectors makes the selector of a part, given the step's name; of each part once
     * @param metrics where it counts
     */
    Workflow compose(String profile, Function<String, Selector> selectors, RoutingMetrics metrics);
  }
}
