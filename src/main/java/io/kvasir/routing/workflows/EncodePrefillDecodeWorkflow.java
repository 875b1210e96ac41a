package io.kvasir.routing.workflows;

import io.kvasir.routing.FailurePolicy;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.PlanResult;
import io.kvasir.routing.PlanningSession;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingPlan;
import io.kvasir.routing.Selection.Chosen;
import io.kvasir.routing.Selection.None;
import io.kvasir.routing.Selector;
import io.kvasir.routing.Slots;
import io.kvasir.routing.Worker;
import io.kvasir.routing.Workflow;
import io.kvasir.routing.WorkflowType;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * An encode worker turns images and sound into embeddings before the prompt is read as {@link PrefillDecodeWorkflow}
 * says. A prompt without them is planned as there.
 *
 * <ul>
 *   <li>{@code on-encode-failure} (next-candidate-then-without): what to do when the encode worker fails; without it
 *       the worker that reads the prompt encodes, too.
 *   <li>all parameters of prefill-decode.
 * </ul>
 */
final class EncodePrefillDecodeWorkflow implements Workflow {
  private static final String NAME = "encode-prefill-decode";

  private final Selector encode;
  private final FailurePolicy onEncodeFailure;
  private final Workflow rest;

  private EncodePrefillDecodeWorkflow(Selector encode, FailurePolicy onEncodeFailure, Workflow rest) {
    this.encode = encode;
    this.onEncodeFailure = onEncodeFailure;
    this.rest = rest;
  }

  static WorkflowType.Composer composer(Parameters parameters) {
    FailurePolicy onEncodeFailure =
        parameters.choice("on-encode-failure", FailurePolicy.NEXT_CANDIDATE_THEN_WITHOUT);
    WorkflowType.Composer rest = PrefillDecodeWorkflow.composer(NAME, parameters);
    return (profile, selectors, metrics) ->
        new EncodePrefillDecodeWorkflow(
            selectors.apply(RoutingPlan.ENCODE), onEncodeFailure, rest.compose(profile, selectors, metrics));
  }

  @Override
  public PlanResult plan(PlanningSession passes) {
    if (Slots.requestShape(passes.context()).mediaItems() == 0) {
      return rest.plan(passes);
    }
    return switch (passes.select(encode, Role.ENCODE)) {
      case None none when !onEncodeFailure.canSkipStep() -> PlanResult.NoPlan.of(none);
      case None _ -> rest.plan(passes);
      case Chosen encoder -> before(encoder, rest.plan(passes));
    };
  }

  @Override
  public PlanResult replan(PlanningSession passes, String step, Map<String, Worker> placed) {
    if (!step.equals(RoutingPlan.ENCODE)) {
      return rest.replan(passes, step, placed);
    }
    return switch (passes.select(encode, Role.ENCODE)) {
      case None none -> PlanResult.NoPlan.of(none);
      case Chosen encoder ->
          new PlanResult.PlanFound(
              new RoutingPlan(NAME, RoutingPlan.StepOrder.SEQUENTIAL, List.of(step(encoder))),
              List.of(encoder),
              encoder.reason());
    };
  }

  private PlanResult before(Chosen encoder, PlanResult planned) {
    if (!(planned instanceof PlanResult.PlanFound made)) {
      return planned;
    }
    List<RoutingPlan.Step> steps = new ArrayList<>(List.of(step(encoder)));
    steps.addAll(made.plan().steps());
    List<Chosen> chosen = new ArrayList<>(List.of(encoder));
    chosen.addAll(made.chosen());
    return new PlanResult.PlanFound(new RoutingPlan(NAME, made.plan().order(), steps), chosen, made.reason());
  }

  private RoutingPlan.Step step(Chosen encoder) {
    return encoder.step(RoutingPlan.ENCODE, onEncodeFailure, null);
  }
}
