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
 * The workflow in which an encode worker turns images and audio into embeddings before prefill and decode, which {@link
 * PrefillDecodeWorkflow} plans. A prompt without media has no encode step.
 *
 * <ul>
 *   <li>{@code on-encode-failure} (next-candidate-then-without): policy when the encode worker fails; without it the
 *       worker that computes the prompt encodes, too.
 *   <li>all parameters of prefill-decode.
 * </ul>
 */
final class EncodePrefillDecodeWorkflow implements Workflow {
  private static final String NAME = "encode-prefill-decode";

  private final Selector encode;
  private final FailurePolicy onEncodeFailure;
  private final Workflow prefillDecode;

  private EncodePrefillDecodeWorkflow(Selector encode, FailurePolicy onEncodeFailure, Workflow prefillDecode) {
    this.encode = encode;
    this.onEncodeFailure = onEncodeFailure;
    this.prefillDecode = prefillDecode;
  }

  static WorkflowType.Composer composer(Parameters parameters) {
    FailurePolicy onEncodeFailure =
        parameters.choice("on-encode-failure", FailurePolicy.NEXT_CANDIDATE_THEN_WITHOUT);
    WorkflowType.Composer prefillDecode = PrefillDecodeWorkflow.composer(NAME, parameters);
    return (profile, selectors, metrics) ->
        new EncodePrefillDecodeWorkflow(
            selectors.apply(RoutingPlan.ENCODE), onEncodeFailure, prefillDecode.compose(profile, selectors, metrics));
  }

  @Override
  public PlanResult plan(PlanningSession session) {
    if (Slots.requestShape(session.context()).mediaItems() == 0) {
      return prefillDecode.plan(session);
    }
    return switch (session.select(encode, Role.ENCODE)) {
      case None none when !onEncodeFailure.canSkipStep() -> PlanResult.NoPlan.of(none);
      case None _ -> prefillDecode.plan(session);
      case Chosen encoder -> prependEncode(encoder, prefillDecode.plan(session));
    };
  }

  @Override
  public PlanResult replan(PlanningSession session, String step, Map<String, Worker> placed) {
    if (!step.equals(RoutingPlan.ENCODE)) {
      return prefillDecode.replan(session, step, placed);
    }
    return switch (session.select(encode, Role.ENCODE)) {
      case None none -> PlanResult.NoPlan.of(none);
      case Chosen encoder ->
          new PlanResult.PlanFound(
              new RoutingPlan(NAME, RoutingPlan.StepOrder.SEQUENTIAL, List.of(step(encoder))),
              List.of(encoder),
              encoder.reason());
    };
  }

  private PlanResult prependEncode(Chosen encoder, PlanResult planned) {
    if (!(planned instanceof PlanResult.PlanFound found)) {
      return planned;
    }
    List<RoutingPlan.Step> steps = new ArrayList<>(List.of(step(encoder)));
    steps.addAll(found.plan().steps());
    List<Chosen> chosen = new ArrayList<>(List.of(encoder));
    chosen.addAll(found.chosen());
    return new PlanResult.PlanFound(new RoutingPlan(NAME, found.plan().order(), steps), chosen, found.reason());
  }

  private RoutingPlan.Step step(Chosen encoder) {
    return encoder.step(RoutingPlan.ENCODE, onEncodeFailure, null);
  }
}
