package io.kvasir.cell;

import io.kvasir.routing.RoutingPlan;
import io.kvasir.routing.Worker;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** What became of a {@link DecisionRequest}. */
public sealed interface Decision {
  /**
   * Workers were chosen and their load booked, for all steps or for none.
   *
   * @param workflow how the steps belong together: the name of the profile's workflow
   * @param order whether a step begins with what the one before it has answered
   * @param steps at least one; the last one's answer is the client's. When one step was to be replanned, that step
   * @param reason in short, for {@code X-Router-Reason}: profile, depth and what decided
   */
  record Planned(String workflow, RoutingPlan.StepOrder order, List<Chosen> steps, String reason) implements Decision {
    /** Copies what it is given. */
    public Planned {
      steps = List.copyOf(steps);
    }

    /** The step whose answer is the client's. */
    public Chosen last() {
      return steps.getLast();
    }

    /** The step of a name, null when the plan does without it. */
    public @Nullable Chosen step(String name) {
      for (Chosen chosen : steps) {
        if (chosen.step().name().equals(name)) {
          return chosen;
        }
      }
      return null;
    }

    /** Closes what is still open of all steps. */
    public void close(Outcome outcome) {
      steps.forEach(chosen -> chosen.reservation().close(outcome));
    }
  }

  /**
   * One step of a plan and what is booked for it.
   *
   * @param step what is to be done, by which worker, and what when that fails
   * @param reservation the booked load; the holder of the decision closes it
   * @param depth leading blocks of the chain the worker holds
   * @param predictedCachedTokens what the engine should report as cached
   * @param confirmedCachedTokens how many of those its engine has reported; the others are predicted
   * @param suspect whether the worker's index is known to have missed events
   */
  record Chosen(
      RoutingPlan.Step step,
      Reservation reservation,
      int depth,
      int predictedCachedTokens,
      int confirmedCachedTokens,
      boolean suspect) {
    /** The worker that does the step. */
    public Worker worker() {
      return step.worker();
    }
  }

  /**
   * No worker could be chosen and nothing is booked.
   *
   * @param reason the kind of want
   * @param detail in plain words, for the error body
   */
  record NoWorker(NoWorkerReason reason, String detail) implements Decision {}

  /** Why there is no worker. */
  enum NoWorkerReason {
    /** No pod serves a model of this name: 404. */
    UNKNOWN_MODEL,
    /** Pods serve it, but none of them is alive and healthy (or all have failed this request): 503. */
    NONE_HEALTHY,
    /** All are at their limit: 429. */
    ALL_FULL,
    /**
     * The cell's home did not answer in time, or does not know yet how its workers are. {@link Cells} finds a worker
     * in the roster instead, so no request meets this while there is one, but on a node that is cut off and configured
     * to refuse: 503.
     */
    NO_HOME;

    /** Its name in {@link io.kvasir.telemetry.DecisionRecord#refused()}. */
    public String label() {
      return name().toLowerCase(Locale.ROOT);
    }
  }
}
