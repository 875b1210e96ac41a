package io.kvasir.routing;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The passes of one planning: they share a context, and what they book is given back unless it becomes part of the
 * plan. Used by one thread.
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

  /** Plans a request, or one of its steps anew. */
  public static PlanResult plan(Workflow workflow, Fleet fleet, RoutingContext context, @Nullable StepReplan again) {
    return new PlanningSession(fleet, context, null, false).run(workflow, again);
  }

  /** The same, telling how each choice came about: for the sampled log, since it costs more than the choices. */
  public static PlanResult plan(
      Workflow workflow, Fleet fleet, RoutingContext context, @Nullable StepReplan again, Consumer<Explanation> log) {
    return new PlanningSession(fleet, context, log, false).run(workflow, again);
  }

  /** A dry run: plans as {@link #plan} would and tells how, books nothing, and no plugin remembers it. */
  public static PlanResult explain(
      Workflow workflow, Fleet fleet, RoutingContext context, @Nullable StepReplan again, Consumer<Explanation> log) {
    return new PlanningSession(fleet, context, log, true).run(workflow, again);
  }

  /**
   * One step of a plan that is wanted anew, while the others keep their workers.
   *
   * @param step its name
   * @param placed the workers of the others, by their names
   */
  public record StepReplan(String step, Map<String, Worker> placed) {}

  /** The request. */
  public RoutingContext context() {
    return context;
  }

  /** One pass: chooses a worker for a role and books its load. */
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

  /** Gives back what a pass booked: the plan does without that worker. */
  public void release(Selection.Chosen chosen) {
    if (booked.remove(chosen)) {
      fleet.cancel(chosen.slot(), chosen.booking());
    }
  }

  private PlanResult run(Workflow workflow, @Nullable StepReplan again) {
    List<Selection.Chosen> kept = List.of();
    try {
      PlanResult planning =
          again == null ? workflow.plan(this) : workflow.replan(this, again.step(), again.placed());
      if (planning instanceof PlanResult.PlanFound made) {
        kept = made.chosen();
        return made.withNotes(context.notes());
      }
      return planning;
    } finally {
      for (int i = booked.size() - 1; i >= 0; i--) {
        if (!kept.contains(booked.get(i))) {
          release(booked.get(i));
        }
      }
    }
  }
}
