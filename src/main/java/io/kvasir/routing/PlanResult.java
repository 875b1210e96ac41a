package io.kvasir.routing;

import java.util.List;

/** What a {@link Workflow} came to. */
public sealed interface PlanResult {
  /**
   * A plan, its load booked.
   *
   * @param plan who does what
   * @param chosen how each step's worker was chosen, in the order of the plan's steps
   * @param reason in one line for {@code X-Router-Reason}: printable ASCII, at most 160 characters besides what plugins
   *     note
   */
  record PlanFound(RoutingPlan plan, List<Selection.Chosen> chosen, String reason) implements PlanResult {
    /** Copies what it is given. */
    public PlanFound {
      chosen = List.copyOf(chosen);
    }

    /** The same with more said in its reason. */
    PlanFound withNotes(String notes) {
      return notes.isEmpty() ? this : new PlanFound(plan, chosen, reason + notes);
    }
  }

  /**
   * There is no plan and nothing is booked.
   *
   * @param unmetNeed what the fleet lacks
   * @param detail the same in plain words
   */
  record NoPlan(UnmetNeed unmetNeed, String detail) implements PlanResult {
    /** As a pass has found. */
    public static NoPlan of(Selection.None none) {
      return new NoPlan(none.unmetNeed(), none.detail());
    }
  }
}
