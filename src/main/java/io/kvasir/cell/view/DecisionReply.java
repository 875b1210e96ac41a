package io.kvasir.cell.view;

import io.kvasir.cell.ClusterMessage;
import io.kvasir.cell.Decision;
import io.kvasir.routing.RoutingPlan;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The decision for another node; without steps there is no worker.
 *
 * @param home the incarnation of the home that decided
 * @param reason why this plan, or why there is none, in plain words
 * @param noWorkerReason why there is none, null when there is a plan
 */
public record DecisionReply(
    long home,
    @Nullable String workflow,
    RoutingPlan.@Nullable StepOrder order,
    @Nullable List<ChosenStep> steps,
    String reason,
    Decision.@Nullable NoWorkerReason noWorkerReason)
    implements ClusterMessage {

  /** A step, whose load the cell holds under the id of the request's step. */
  public record ChosenStep(
      RoutingPlan.Step step,
      int depth,
      int predictedCachedTokens,
      int confirmedCachedTokens,
      boolean suspect) {}
}
