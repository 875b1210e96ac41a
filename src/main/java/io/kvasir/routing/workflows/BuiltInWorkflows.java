package io.kvasir.routing.workflows;

import static io.kvasir.routing.RoutingPlan.DECODE;
import static io.kvasir.routing.RoutingPlan.ENCODE;
import static io.kvasir.routing.RoutingPlan.PREFILL;
import static io.kvasir.routing.RoutingPlan.PREFILL_DECODE_WORKFLOW;

import io.kvasir.routing.WorkflowType;
import io.kvasir.routing.WorkflowType.StepType;
import java.util.List;

/** Every workflow Kvasir comes with, beside that of a profile of stages. */
public final class BuiltInWorkflows {
  private static final String PAIR = "pair";
  private static final StepType PREFILLED =
      new StepType(PREFILL, PAIR, "a worker could be asked to read a prompt that it can hand to nobody");
  private static final StepType DECODED =
      new StepType(DECODE, PAIR, "a worker could be asked to go on with a prompt that it cannot take over");

  private BuiltInWorkflows() {}

  /** The types of them, for the registry. */
  public static List<WorkflowType> types() {
    return List.of(
        new WorkflowType(PREFILL_DECODE_WORKFLOW, List.of(PREFILLED, DECODED), PrefillDecodeWorkflow::composer),
        new WorkflowType(
            "encode-prefill-decode",
            List.of(new StepType(ENCODE, "", ""), PREFILLED, DECODED),
            EncodePrefillDecodeWorkflow::composer));
  }
}
