package io.kvasir.routing;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The planning of one request: the passes of its workflow's selectors over one fleet, which share a context. Load that
 * a pass books is cancelled unless the worker becomes part of the plan. Used by one thread.
 */
public final class PlanningSession {
  private final Fleet fleet;
  private final RoutingContext context;
  private final @Nullable Consumer<Explanation> log;
  private final boolean dryRun;
  private final List<Selection.Chosen> booked = new ArrayList<>(2);

  private PlanningSession(Fleet fleet, RoutingContext context, @Nullable Consumer<Explanation> log, boolean dryRun) {
    this.fleet = fleet;
    this.context = context;
    this.log = log;
    this.dryRun = dryRun;
  }

  /** Plans a request, or replans one of its steps. */
  public static PlanResult plan(Workflow workflow, Fleet fleet, RoutingContext context, @Nullable StepReplan replan) {
    return new PlanningSession(fleet, context, null, false).run(workflow, replan);
  }

  /** Plans a request and passes each choice's explanation to {@code log}, which costs more than the choices. */
  public static PlanResult plan(
      Workflow workflow, Fleet fleet, RoutingContext context, @Nullable StepReplan replan, Consumer<Explanation> log) {
    return new PlanningSession(fleet, context, log, false).run(workflow, replan);
  }

  /** Plans a request in a dry run with explanations: nothing is booked, and no plugin changes its state. */
  public static PlanResult explain(
      Workflow workflow, Fleet fleet, RoutingContext context, @Nullable StepReplan replan, Consumer<Explanation> log) {
    return new PlanningSession(fleet, context, log, true).run(workflow, replan);
  }

  /**
   * A step of a plan to be planned again, while the other steps keep their workers.
   *
   * @param step the step's name
   * @param placed the other steps' workers, by step name
   */
  public record StepReplan(String step, Map<String, Worker> placed) {}

  /** The request's context. */
  public RoutingContext context() {
    return context;
  }

  /** Runs one pass: chooses a worker for a role and books its load. */
  public Selection select(Selector selector, Role role) {
    context.setRole(role);
    Selection selection;
    if (dryRun && log != null) {
      Explanation explanation = selector.explain(fleet, context);
      log.accept(explanation);
      selection = explanation.selection();
    } else {
      selection = log == null ? selector.select(fleet, context) : selector.select(fleet, context, log);
      if (selection instanceof Selection.Chosen chosen) {
        booked.add(chosen);
      }
    }
    return selection;
  }

  /** Cancels the load that a pass booked: the worker is not part of the plan. */
  public void release(Selection.Chosen chosen) {
    if (booked.remove(chosen)) {
      fleet.cancel(chosen.slot(), chosen.booking());
    }
  }

  private PlanResult run(Workflow workflow, @Nullable StepReplan replan) {
    List<Selection.Chosen> kept = List.of();
    try {
      PlanResult result =
          replan == null ? workflow.plan(this) : workflow.replan(this, replan.step(), replan.placed());
      if (result instanceof PlanResult.PlanFound found) {
        kept = found.chosen();
        return found.withNotes(context.notes());
      }
      return result;
    } finally {
      for (int i = booked.size() - 1; i >= 0; i--) {
        if (!kept.contains(booked.get(i))) {
          release(booked.get(i));
        }
      }
    }
  }
}
