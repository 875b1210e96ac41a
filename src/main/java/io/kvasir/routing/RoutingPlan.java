package io.kvasir.routing;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What routing decided, as data: who does what, in which order, and what to do when somebody fails. A request served
 * by an aggregated worker has one step; prefill and decode apart have two. The last step's answer is the client's.
 *
 * @param workflow the workflow's name, which says how the steps belong together
 * @param order whether a step begins with what the one before it has answered
 * @param steps at least one, each with a name of its own, as their results are needed
 */
public record RoutingPlan(String workflow, StepOrder order, List<Step> steps) {
  /** The name of the workflow of one step, which one worker does. */
  public static final String SINGLE_WORKFLOW = "single";

  /** The name of the workflow whose prompt one worker reads, and from which another one generates. */
  public static final String PREFILL_DECODE_WORKFLOW = "prefill-decode";

  /** The name of the only step where one worker does everything. */
  public static final String WHOLE = "whole";

  /** The name of the step that generates from a prompt that another worker may have read. */
  public static final String DECODE = "decode";

  /** The name of the step that reads the prompt where another worker generates. */
  public static final String PREFILL = "prefill";

  /** The name of the step that turns images and sound into embeddings. */
  public static final String ENCODE = "encode";

  /** Checks that there are steps and that their names tell them apart. */
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

  /** When steps begin. */
  public enum StepOrder {
    /** One after the other: each needs the answer of the one before it. */
    SEQUENTIAL,
    /** Encoders first, then all at once: the engines find each other. */
    CONCURRENT;

    /** The order of a prefill and a decode step, by how one of their workers hands KV blocks over, or takes them. */
    public static StepOrder ofPrefillDecode(Worker worker) {
      KvTransfer transfer = worker.kvTransfer();
      return transfer != null && transfer.dialect().concurrent() ? CONCURRENT : SEQUENTIAL;
    }
  }

  /**
   * One worker's part.
   *
   * @param name what is to be done, unique in its plan: how retries and executors refer to it
   * @param role what the worker has to be able to do
   * @param worker who does it; its load is booked
   * @param readsPrompt whether the worker computes the prompt itself; otherwise another step hands it over
   * @param alternatives who would have been next, best first; nothing is booked on them
   * @param onFailure what to do when it fails
   * @param deadline how long the step may take before it counts as failed, null for as long as the request
   */
  public record Step(
      String name,
      Role role,
      Worker worker,
      boolean readsPrompt,
      List<Worker> alternatives,
      FailurePolicy onFailure,
      @Nullable Duration deadline) {
    /** Copies what it is given; alternatives that a node of another version did not send are none. */
    public Step {
      alternatives = copy(alternatives);
    }

    private static List<Worker> copy(@Nullable List<Worker> alternatives) {
      return alternatives == null ? List.of() : List.copyOf(alternatives);
    }
  }
}
