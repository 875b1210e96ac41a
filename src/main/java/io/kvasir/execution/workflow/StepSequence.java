package io.kvasir.execution.workflow;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.Attempt.AttemptResult;
import io.kvasir.execution.Report;
import io.kvasir.execution.Result;
import io.kvasir.execution.Task;
import io.kvasir.execution.dialect.EngineRequest;
import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.execution.dialect.PrefillResult;
import io.kvasir.execution.workflow.WorkflowActor.Event;
import io.kvasir.http.client.PodException;
import io.kvasir.routing.RoutingPlan;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The way of one request through a plan: which step begins when, and what one hands to the next. What becomes of the
 * request it leaves to the {@link WorkflowExecution}. Confined to the workflow's actor.
 */
final class StepSequence {
  private final WorkflowSupervisor.Services services;
  private final WorkflowSupervisor.WorkflowRequest workflow;
  private final StepRuns runs;
  private final StepStarter starter;
  private final Consumer<Supplier<Event>> background;
  private final WorkflowExecution execution;
  private final ReservedSteps reserved = new ReservedSteps();
  private WorkflowState state = WorkflowState.NONE;

  /**
   * A way that has not begun.
   *
   * @param runs takes the steps that begin
   * @param away has something done on a thread that may block
   */
  StepSequence(
      WorkflowSupervisor.Services services,
      WorkflowSupervisor.WorkflowRequest order,
      StepRuns runs,
      StepStarter starter,
      Consumer<Supplier<Event>> away,
      WorkflowExecution conductor) {
    this.services = services;
    this.workflow = order;
    this.runs = runs;
    this.starter = starter;
    this.background = away;
    this.execution = conductor;
  }

  WorkflowState state() {
    return state;
  }

  /** The step whose answer is the client's. */
  String last() {
    return state.plan().last().step().name();
  }

  /** Whether a step has its load booked and has not begun. */
  boolean isPending(String step) {
    return reserved.has(step);
  }

  /** Sets out on a plan whose load is booked. */
  void start(WorkflowState begun) {
    begun.plan().steps().forEach(reserved::add);
    workflow.retries().recordTry(begun.plan().last().worker());
    String unfit = begun.unsupportedReason();
    if (unfit == null) {
      proceed(begun);
      return;
    }
    services.execution().metrics().splitSkipped(unfit);
    if (begun.isOptional(RoutingPlan.PREFILL)) {
      proceed(leaveOut(begun, RoutingPlan.PREFILL, "whole: " + unfit));
      return;
    }
    releaseReserved();
    execution.cannotSplit(begun, unfit);
  }

  /** Goes on with another worker for one step, whose load is booked. */
  void proceed(WorkflowState now, Decision.Chosen step) {
    reserved.add(step);
    workflow.retries().recordTry(now.plan().last().worker());
    proceed(now);
  }

  /** Begins whatever can begin now. */
  void proceed(WorkflowState now) {
    state = now;
    if (execution.finished()) {
      return;
    }
    Decision.Chosen preparation = now.nextPreprocessing();
    Decision.Chosen prefill = now.prefill();
    URI server = now.bootstrapServer();
    if (preparation != null) {
      background.accept(() ->
          new Event.PreprocessingReady(preparation, now.preprocessing(preparation, services.preprocessing())));
    } else if (prefill == null) {
      execution.scheduleHedge(
          start(now.plan().last(), List.of(chosen -> now.singleTask(workflow.call(), chosen, services.execution()))));
    } else if (server != null && now.bootstrap() == null) {
      background.accept(() -> bootstrap(now, server));
    } else {
      start(prefill, List.of(chosen -> now.prefill(workflow.call(), chosen)));
      if (now.dialect().concurrent()) {
        decode(now, prefill, PrefillResult.KvBlocks.NOT_AWAITED,
            WorkflowState.prefillReport(prefill, workflow.retries().counts()));
      }
    }
  }

  private void decode(WorkflowState now, Decision.Chosen prefill, PrefillResult.KvBlocks blocks, Report read) {
    start(
        now.plan().last(),
        List.of(chosen -> now.decode(workflow.call(), prefill, chosen, blocks, read, services.execution())));
  }

  /** What a preparation's worker is to be sent is known. */
  void preprocessingReady(Decision.Chosen step, PendingPreprocessing preparing) {
    WorkflowState now = preparing.state();
    if (preparing.requests().isEmpty()) {
      proceed(leaveOut(now, step.step().name(), ""));
      return;
    }
    state = now;
    if (!execution.finished()) {
      List<Function<Decision.Chosen, Task>> tasks = new ArrayList<>();
      for (EngineRequest message : preparing.requests()) {
        tasks.add(chosen -> now.preprocessingTask(workflow.call(), chosen, message));
      }
      start(step, tasks);
    }
  }

  private Event bootstrap(WorkflowState now, URI server) {
    try {
      JsonMembers known = services.bootstraps().cached(server);
      return new Event.BootstrapReceived(now.bootstrapped(known == null ? services.bootstraps().fetch(server) : known));
    } catch (PodException e) {
      return new Event.BootstrapFailed(
          new AttemptResult.Failed("bootstrap", String.valueOf(e.getMessage()), false, false, true, null));
    }
  }

  /** The prefill's load is given back, for its engine cannot be asked; null when it has been. */
  Decision.@Nullable Chosen bootstrapFailed(AttemptResult.Failed failure) {
    Decision.Chosen prefill = reserved.take(RoutingPlan.PREFILL);
    if (prefill != null) {
      prefill.reservation().close(new Outcome.Failed(failure.transport(), failure.detail()));
    }
    return prefill;
  }

  private StepRun start(Decision.Chosen step, List<Function<Decision.Chosen, Task>> tasks) {
    reserved.take(step.step().name());
    StepRun run = starter.start(state, step, tasks);
    runs.add(run);
    return run;
  }

  /** A step's last answer has come, and what it handed over, if anything. */
  void stepDone(StepRun run, Result.Buffered whole, @Nullable PrefillResult handed) {
    if (!run.name().equals(RoutingPlan.PREFILL)) {
      proceed(state.preprocessed(run.name(), services.preprocessing(), run.answers()));
      return;
    }
    switch (handed) {
      // Beside decode, which knows what to do.
      case null -> { }
      case PrefillResult.KvBlocks blocks -> decode(state, run.chosen(), blocks, whole.report());
      case PrefillResult.NoBlocks(String why) -> skip(RoutingPlan.PREFILL, why);
      case PrefillResult.FinalAnswer answer ->
          execution.finish(state.finishedByPrefill(run.chosen(), answer, whole.report()));
    }
  }

  /** Goes on without a step. */
  void skip(String step, String why) {
    services.execution().metrics().stepSkipped(step, why);
    proceed(leaveOut(state, step, "without " + step + ": " + why));
  }

  /** The same without a step; what is booked for it is given back. */
  private WorkflowState leaveOut(WorkflowState from, String step, String note) {
    reserved.release(step);
    if (step.equals(RoutingPlan.PREFILL)) {
      from.plan().last().reservation().prefillLocally();
    }
    return from.without(step, note);
  }

  /** Begins what the first does once more, at another worker. */
  void startHedge(Decision.Planned planned, WorkflowState begun) {
    workflow.retries().recordTry(planned.last().worker());
    start(planned.last(), List.of(chosen -> begun.singleTask(workflow.call(), chosen, services.execution())))
        .markHedge();
  }

  /** Gives back what is booked for steps that have not begun. */
  void releaseReserved() {
    reserved.releaseAll();
  }
}
