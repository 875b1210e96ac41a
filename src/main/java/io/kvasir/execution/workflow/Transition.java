package io.kvasir.execution.workflow;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.Result;
import io.kvasir.execution.attempt.AbortReason;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The next state of a workflow and the effects that lead there, in the order in which they are to be done. Every change
 * to reservations and runs is made here, together with its effect. Confined to one thread.
 */
final class Transition {
  private static final Outcome CANCELLED = new Outcome.Cancelled();

  private final List<WorkflowEffect> effects = new ArrayList<>(4);
  private WorkflowState state;

  Transition(WorkflowState state) {
    this.state = state;
  }

  WorkflowState state() {
    return state;
  }

  List<WorkflowEffect> effects() {
    return effects;
  }

  void set(WorkflowState next) {
    state = next;
  }

  void add(WorkflowEffect effect) {
    effects.add(effect);
  }

  /** Takes over a plan whose steps in {@code booked} have been booked for this try. */
  void reserve(PlanState plan, List<Decision.Chosen> booked) {
    state = state.with(plan)
        .with(state.steps().reserving(booked))
        .with(state.retries().withTry(plan.last().worker()));
  }

  /** Starts a run of a step, which is no longer reserved. */
  StepRun start(PlanState plan, Decision.Chosen step, StepWork work, boolean hedge) {
    StepRun run = StepRun.started(state.steps().nextRun(), step, hedge, work.requests());
    state = state.with(state.steps().starting(run));
    add(new WorkflowEffect.StartStep(plan, run, work, state.retries()));
    Duration deadline = step.step().deadline();
    if (deadline != null) {
      add(new WorkflowEffect.Schedule(deadline, new WorkflowEvent.StepTimedOut(run.id())));
    }
    return run;
  }

  /** The run of that id that was not stopped; null without one. */
  @Nullable StepRun activeRun(int id) {
    StepRun run = state.steps().run(id);
    return run == null || run.stopped() ? null : run;
  }

  /** Gives the client its result, once; nothing starts any more. */
  void finish(Result result) {
    if (!state.finished()) {
      state = state.withFinished();
      releaseReserved();
      add(new WorkflowEffect.Finish(result, state.retries()));
    }
  }

  void crash(Throwable cause) {
    stopAll(AbortReason.NOT_NEEDED);
    if (!state.finished()) {
      state = state.withFinished();
      releaseReserved();
      add(new WorkflowEffect.Crash(cause));
    }
  }

  void stop(StepRun run, AbortReason reason) {
    if (activeRun(run.id()) != null) {
      state = state.with(state.steps().with(run.withStopped()));
      add(new WorkflowEffect.Abort(run.id(), reason));
    }
  }

  void stopAll(AbortReason reason) {
    state.steps().runs().forEach(run -> stop(run, reason));
  }

  void releaseReserved() {
    releaseAll(state.steps().reserved());
    state = state.with(state.steps().withoutReserved());
  }

  void release(Decision.Chosen step, Outcome outcome) {
    state = state.with(state.steps().withoutReserved(step.step().name()));
    add(new WorkflowEffect.Release(step, outcome));
  }

  void releaseAll(List<Decision.Chosen> steps) {
    steps.forEach(step -> add(new WorkflowEffect.Release(step, CANCELLED)));
  }
}
