package io.kvasir.execution.workflow;

import io.kvasir.cell.Decision;
import io.kvasir.execution.attempt.RetryState;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The state of one workflow: {@link WorkflowTransitions} derives the next from it. Immutable.
 *
 * @param plan the plan that is carried out, null before the first
 * @param steps the plan's steps that have not started, and those that run
 * @param retries the history of the request's tries
 * @param finished whether the client has its result, so that nothing starts any more
 */
record WorkflowState(@Nullable PlanState plan, Steps steps, RetryState retries, boolean finished) {
  /**
   * Steps by how far they are.
   *
   * @param reserved steps with booked load that have not started
   * @param runs steps that run, those that were stopped and have not ended included
   * @param nextRun the next run's id
   */
  record Steps(List<Decision.Chosen> reserved, List<StepRun> runs, int nextRun) {
    static final Steps NONE = new Steps(List.of(), List.of(), 0);

    /** The step of that name that has not started; null without one. */
    Decision.@Nullable Chosen reserved(String step) {
      for (Decision.Chosen chosen : reserved) {
        if (chosen.step().name().equals(step)) {
          return chosen;
        }
      }
      return null;
    }

    Steps reserving(List<Decision.Chosen> more) {
      List<Decision.Chosen> all = new ArrayList<>(reserved);
      all.addAll(more);
      return new Steps(List.copyOf(all), runs, nextRun);
    }

    Steps withoutReserved(String step) {
      return new Steps(
          reserved.stream().filter(chosen -> !chosen.step().name().equals(step)).toList(), runs, nextRun);
    }

    Steps withoutReserved() {
      return new Steps(List.of(), runs, nextRun);
    }

    /** The run of that id; null when it has ended. */
    @Nullable StepRun run(int id) {
      for (StepRun run : runs) {
        if (run.id() == id) {
          return run;
        }
      }
      return null;
    }

    /** A run of that step, other than {@code except}, that was not stopped; null without one. */
    @Nullable StepRun activeRun(String step, int except) {
      for (StepRun run : runs) {
        if (run.id() != except && !run.stopped() && run.name().equals(step)) {
          return run;
        }
      }
      return null;
    }

    /** With a run that starts, whose step is no longer reserved. */
    Steps starting(StepRun run) {
      List<StepRun> all = new ArrayList<>(runs);
      all.add(run);
      return new Steps(withoutReserved(run.name()).reserved, List.copyOf(all), nextRun + 1);
    }

    /** With a run in place of the one of the same id; without it when all its requests have ended. */
    Steps with(StepRun changed) {
      List<StepRun> all = new ArrayList<>(runs);
      all.replaceAll(run -> run.id() == changed.id() ? changed : run);
      all.removeIf(run -> run.open() == 0);
      return new Steps(reserved, List.copyOf(all), nextRun);
    }
  }

  /** The state of a workflow before its first event. */
  static WorkflowState initial(RetryState retries) {
    return new WorkflowState(null, Steps.NONE, retries, false);
  }

  /** Whether the client has its result and no request runs any more. */
  boolean isDone() {
    return finished && steps.runs().isEmpty();
  }

  PlanState requirePlan() {
    if (plan == null) {
      throw new IllegalStateException("the workflow has no plan yet");
    }
    return plan;
  }

  WorkflowState with(PlanState next) {
    return new WorkflowState(next, steps, retries, finished);
  }

  WorkflowState with(Steps next) {
    return new WorkflowState(plan, next, retries, finished);
  }

  WorkflowState with(RetryState next) {
    return new WorkflowState(plan, steps, next, finished);
  }

  WorkflowState withFinished() {
    return new WorkflowState(plan, steps, retries, true);
  }
}
