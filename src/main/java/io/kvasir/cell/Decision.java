package io.kvasir.cell;

import io.kvasir.admission.AdmissionRefusal;
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
   * @param origin where it was made, null where that was not noted
   * @param waitedMillis how long the request waited for its turn; 0 when it did not
   */
  record Planned(
      String workflow,
      RoutingPlan.StepOrder order,
      List<Chosen> steps,
      String reason,
      @Nullable Origin origin,
      long waitedMillis)
      implements Decision {
    /** A decision whose origin is not noted. */
    public Planned(String workflow, RoutingPlan.StepOrder order, List<Chosen> steps, String reason) {
      this(workflow, order, steps, reason, null, 0);
    }

    /** Copies what it is given. */
    public Planned {
      steps = List.copyOf(steps);
    }

    /** The same with other steps, and for another reason. */
    public Planned with(List<Chosen> others, String because) {
      return new Planned(workflow, order, others, because, origin, waitedMillis);
    }

    /** The same, made there. */
    public Planned from(Origin other) {
      return new Planned(workflow, order, steps, reason, other, waitedMillis);
    }

    /** The same, after a wait. */
    public Planned waited(long millis) {
      return new Planned(workflow, order, steps, reason, origin, millis);
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
   * Where a decision was made.
   *
   * @param way how it was reached
   * @param cell whose workers were chosen
   * @param home host and port of the node that decided, null where it is this one or not known
   */
  record Origin(Way way, String cell, @Nullable String home) {}

  /** How a cell's home is reached. */
  enum Way {
    /** It is this node. */
    LOCAL,
    /** By the peer connection to it. */
    LINE,
    /** By the cluster's messages, for there is no peer connection or the cell has moved. */
    CLUSTER,
    /** Not at all: this node has chosen from the roster. */
    FALLBACK;

    /** Its name in metrics and traces. */
    public String label() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /**
   * One step of a plan and what is booked for it.
   *
   * @param step what is to be done, by which worker, and what when that fails
   * @param reservation the booked load; the holder of the decision closes it
   * @param depth leading blocks of the chain the worker holds
   * @param cached tokens of the prompt that are cached, there and elsewhere
   * @param suspect whether the worker's index is known to have missed events
   */
  record Chosen(
      RoutingPlan.Step step,
      Reservation reservation,
      int depth,
      CachedTokens cached,
      boolean suspect) {
    /** The worker that does the step. */
    public Worker worker() {
      return step.worker();
    }

    /** The same step with another reservation, which closes this one. */
    public Chosen with(Reservation other) {
      return new Chosen(step, other, depth, cached, suspect);
    }
  }

  /**
   * No worker could be chosen and nothing is booked.
   *
   * @param reason the kind of want
   * @param detail in plain words, for the error body
   * @param load the workers that there are; null where the cell did not say
   * @param refusal why the request does not wait for one; null where that is not the reason
   */
  record NoWorker(
      NoWorkerReason reason, String detail, @Nullable CellLoad load, @Nullable AdmissionRefusal refusal)
      implements Decision {
    /** Not because of a refusal. */
    public NoWorker(NoWorkerReason reason, String detail, @Nullable CellLoad load) {
      this(reason, detail, load, null);
    }

    /** Without what the cell says. */
    public NoWorker(NoWorkerReason reason, String detail) {
      this(reason, detail, null);
    }

    /** A request that is not to wait, or not any longer. */
    public static NoWorker refused(AdmissionRefusal why) {
      return new NoWorker(
          NoWorkerReason.NOT_ADMITTED, "the request was not admitted: " + why.reason().label().replace('_', ' '), null,
          why);
    }
  }

  /** Why there is no worker. */
  enum NoWorkerReason {
    /** No pod serves a model of this name: 404. */
    UNKNOWN_MODEL,
    /** Pods serve it, but none of them is alive and healthy (or all have failed this request): 503. */
    NONE_HEALTHY,
    /** All are at their limit: 429. */
    ALL_FULL,
    /**
     * The cell's home did not answer in time, or does not know yet how its workers are, for the cell is being moved.
     * {@link Cells} finds a worker in the roster instead, so no request meets this while there is one: 503.
     */
    NO_HOME,
    /**
     * This node is cut off from the others, so that no home can be reached. {@link Cells} finds a worker in the roster
     * instead, unless it is configured to refuse then: 503.
     */
    CUT_OFF,
    /** This node is stopping, and another one serves the request: 503. */
    STOPPING,
    /** The workers are full, and the request is not to wait, or not any longer: 429 or 503. */
    NOT_ADMITTED,
    /** The request is for a worker that has some of its prompt only, and the one that was chosen has none: 412. */
    NOT_CACHED;

    /** Its name in {@link io.kvasir.telemetry.DecisionRecord#refused()}. */
    public String label() {
      return name().toLowerCase(Locale.ROOT);
    }
  }
}
