package io.kvasir.routing;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The plan of a request: its steps with their workers, their order, and the failure policy of each. A request to an
 * aggregated worker has one step; split prefill and decode have two. The client receives the last step's answer.
 *
 * @param workflow name of the workflow
 * @param order whether steps run one after the other or at the same time
 * @param steps at least one, with unique names, in the order in which their results are needed
 */
public record RoutingPlan(String workflow, StepOrder order, List<Step> steps) {
  /** The name of the workflow with one step, of one worker. */
  public static final String SINGLE_WORKFLOW = "single";

  /** The name of the workflow that splits prefill and decode between two workers. */
  public static final String PREFILL_DECODE_WORKFLOW = "prefill-decode";

  /** The name of the only step when one worker does prefill and decode. */
  public static final String WHOLE = "whole";

  /** The name of the decode step, whose worker may receive the prompt's KV blocks from another. */
  public static final String DECODE = "decode";

  /** The name of the prefill step. */
  public static final String PREFILL = "prefill";

  /** The name of the step that turns images and audio into embeddings. */
  public static final String ENCODE = "encode";

  /** Checks that there are steps and that their names are unique. */
  public RoutingPlan {
    if (steps.isEmpty()) {
      throw new IllegalArgumentException("a plan has at least one step");
    }
    steps = List.copyOf(steps);
    for (int i = 1; i < steps.size(); i++) {
      for (int before = 0; before < i; before++) {
        if (steps.get(i).name().equals(steps.get(before).name())) {
          throw new IllegalArgumentException("a plan has two steps named \"" + steps.get(i).name() + "\"");
        }
      }
    }
  }

  /** The order of a plan's steps. */
  public enum StepOrder {
    /** One after the other: each needs the answer of the previous one. */
    SEQUENTIAL,
    /** Encode first, then all at once: the engines connect to each other. */
    CONCURRENT;

    /** The order of a prefill and a decode step, by the transfer protocol of one of their workers. */
    public static StepOrder ofPrefillDecode(Worker worker) {
      KvTransfer transfer = worker.kvTransfer();
      return transfer != null && transfer.dialect().concurrent() ? CONCURRENT : SEQUENTIAL;
    }
  }

  /**
   * One step of a plan.
   *
   * @param name the step's name, unique in its plan
   * @param role the role that the worker needs for the step
   * @param worker the chosen worker; its load is booked
   * @param readsPrompt whether the worker computes the prompt itself; otherwise it receives the prompt's KV blocks
   * @param alternatives the next best workers, best first; nothing is booked on them
   * @param onFailure policy when the step fails
   * @param deadline the longest time of the step before it counts as failed, null for the request's own
   * @param pull what the worker takes from another one's memory; null for nothing, and from a node of an earlier
   *     version
   */
  public record Step(
      String name,
      Role role,
      Worker worker,
      boolean readsPrompt,
      List<Worker> alternatives,
      FailurePolicy onFailure,
      @Nullable Duration deadline,
      @Nullable KvPull pull) {
    /** A step whose worker takes nothing from others. */
    public Step(
        String name,
        Role role,
        Worker worker,
        boolean readsPrompt,
        List<Worker> alternatives,
        FailurePolicy onFailure,
        @Nullable Duration deadline) {
      this(name, role, worker, readsPrompt, alternatives, onFailure, deadline, null);
    }

    /** Copies the list; alternatives that are null, since a node of another version did not send them, are none. */
    public Step {
      alternatives = copy(alternatives);
    }

    private static List<Worker> copy(@Nullable List<Worker> alternatives) {
      return alternatives == null ? List.of() : List.copyOf(alternatives);
    }
  }
}
