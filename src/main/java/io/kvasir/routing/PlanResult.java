package io.kvasir.routing;

import java.util.List;

/** The result of planning a request with a {@link Workflow}. */
public sealed interface PlanResult {
  /**
   * A plan, its load booked.
   *
   * @param plan the plan
   * @param chosen the selection of each step's worker, in the order of the plan's steps
   * @param reason one line for {@code X-Router-Reason}: printable ASCII, at most 160 characters besides plugins' notes
   */
  record PlanFound(RoutingPlan plan, List<Selection.Chosen> chosen, String reason) implements PlanResult {
    /** Copies the list. */
    public PlanFound {
      chosen = List.copyOf(chosen);
    }

    /** This result with {@code notes} appended to its reason. */
    PlanFound withNotes(String notes) {
      return notes.isEmpty() ? this : new PlanFound(plan, chosen, reason + notes);
    }
  }

  /**
   * No plan was found, and nothing is booked.
   *
   * @param unmetNeed what the fleet lacks
   * @param detail the same as a sentence
   */
  record NoPlan(UnmetNeed unmetNeed, String detail) implements PlanResult {
    /** The result of a workflow whose pass chose no worker. */
    public static NoPlan of(Selection.None none) {
      return new NoPlan(none.unmetNeed(), none.detail());
    }
  }
}
