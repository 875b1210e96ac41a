package io.kvasir.execution.workflow;

import io.kvasir.cell.Decision;
import io.kvasir.execution.AbortReason;
import io.kvasir.execution.Attempt.AttemptResult;
import io.kvasir.execution.ExecutionServices;
import io.kvasir.execution.Result;
import io.kvasir.execution.RetryState;
import io.kvasir.execution.Task;
import io.kvasir.execution.UpstreamRequest;
import io.kvasir.execution.dialect.PrefillResult;
import io.kvasir.execution.workflow.WorkflowActor.Event;
import io.kvasir.routing.RoutingPlan;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Begins a workflow's steps, each of their requests on a thread of its own; the workflow hears of each as {@link
 * Event.RequestEnded}. An answer that comes to a workflow that was {@link #closed} is let go. Called by the workflow's
 * actor.
 */
final class StepStarter {
  private final ExecutionServices services;
  private final WorkflowSupervisor.WorkflowRequest workflow;
  private final Consumer<Event> self;
  private final BiConsumer<Duration, Event> scheduler;
  private volatile boolean closed;

  /**
   * The steps of one request.
   *
   * @param self hears of legs that end, from their threads
   * @param later tells of an event after a while
   */
  StepStarter(ExecutionServices means, WorkflowSupervisor.WorkflowRequest order, Consumer<Event> self,
      BiConsumer<Duration, Event> later) {
    this.services = means;
    this.workflow = order;
    this.self = self;
    this.scheduler = later;
  }

  /** Begins a step of a course: as many requests to its worker as there are tasks. */
  StepRun start(WorkflowState course, Decision.Chosen step, List<Function<Decision.Chosen, Task>> tasks) {
    RetryState trials = workflow.retries();
    List<Function<Decision.Chosen, UpstreamRequest>> legs = new ArrayList<>();
    for (Function<Decision.Chosen, Task> task : tasks) {
      legs.add(chosen -> new UpstreamRequest(
          chosen, () -> warm(course, chosen, task), services, workflow.listener(), trials.deadline(), trials.counts()));
    }
    StepRun run = new StepRun(step, legs);
    Duration deadline = step.step().deadline();
    if (deadline != null) {
      scheduler.accept(deadline, new Event.StepTimedOut(run));
    }
    for (int request = 0; request < run.requests().size(); request++) {
      start(course, run, request);
    }
    return run;
  }

  private Task warm(WorkflowState course, Decision.Chosen chosen, Function<Decision.Chosen, Task> task) {
    if (!course.several() || chosen.step().name().equals(RoutingPlan.PREFILL)) {
      services.warmup().prepare(workflow.call(), chosen);
    }
    return task.apply(chosen);
  }

  private void start(WorkflowState course, StepRun run, int request) {
    UpstreamRequest leg = run.requests().get(request);
    workflow.cancellation().onCancelled(() -> leg.abort(AbortReason.CLIENT_CANCELLED));
    Thread.ofVirtual().start(() -> {
      AttemptResult result = leg.run();
      if (closed && result instanceof AttemptResult.Responded(Result.Streaming _)) {
        leg.abandon();
      }
      self.accept(new Event.RequestEnded(run, request, leg, result, handed(course, run.chosen(), result)));
    });
  }

  private static @Nullable PrefillResult handed(WorkflowState course, Decision.Chosen step, AttemptResult result) {
    try {
      return course.prefillResult(step, result);
    } catch (IllegalArgumentException e) {
      return new PrefillResult.NoBlocks("unreadable");
    }
  }

  /** Nobody hears any more of what legs bring. */
  void close() {
    closed = true;
  }
}
