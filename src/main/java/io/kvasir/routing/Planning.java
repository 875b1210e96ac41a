package io.kvasir.routing;

import java.util.List;

/** What a {@link Workflow} came to. */
public sealed interface Planning {
  /**
   * A plan, its load booked.
   *
   * @param plan who does what
   * @param chosen how each step's worker was chosen, in the order of the plan's steps
   * @param reason in one line for {@code X-Router-Reason}: printable ASCII, at most 160 characters besides what plugins
   *     note
   */
  record Made(RoutingPlan plan, List<Selection.Chosen> chosen, String reason) implements Planning {
    /** Copies what it is given. */
    public Made {
      chosen = List.copyOf(chosen);
    }

    /** The same with more said in its reason. */
    Made noted(String notes) {
      return notes.isEmpty() ? this : new Made(plan, chosen, reason + notes);
    }
  }

  /**
   * There is no plan and nothing is booked.
   *
   * @param want what the fleet lacks
   * @param detail the same in plain words
   */
  record None(Want want, String detail) implements Planning {
    /** As a pass has found. */
    public static None of(Selection.None none) {
      return new None(none.want(), none.detail());
    }
  }
}
