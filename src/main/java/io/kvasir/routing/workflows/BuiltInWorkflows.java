package io.kvasir.routing.workflows;

import static io.kvasir.routing.RoutingPlan.DECODE;
import static io.kvasir.routing.RoutingPlan.ENCODE;
import static io.kvasir.routing.RoutingPlan.PREFILL;
import static io.kvasir.routing.RoutingPlan.PREFILL_DECODE_WORKFLOW;

import io.kvasir.routing.WorkflowType;
import io.kvasir.routing.WorkflowType.StepType;
import java.util.List;

/** The types of built-in workflows, besides that of a profile of stages. */
public final class BuiltInWorkflows {
  private static final String PAIR = "pair";
  private static final StepType PREFILL_STEP =
      new StepType(PREFILL, PAIR, "a prompt could be computed by a worker that cannot transfer it");
  private static final StepType DECODE_STEP =
      new StepType(DECODE, PAIR, "a worker could be chosen that cannot receive the prompt's KV blocks");

  private BuiltInWorkflows() {}

  /** The types, for the registry. */
  public static List<WorkflowType> types() {
    return List.of(
        new WorkflowType(PREFILL_DECODE_WORKFLOW, List.of(PREFILL_STEP, DECODE_STEP), PrefillDecodeWorkflow::composer),
        new WorkflowType(
            "encode-prefill-decode",
            List.of(new StepType(ENCODE, "", ""), PREFILL_STEP, DECODE_STEP),
            EncodePrefillDecodeWorkflow::composer));
  }
}
