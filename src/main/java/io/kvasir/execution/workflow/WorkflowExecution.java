package io.kvasir.execution.workflow;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.AbortReason;
import io.kvasir.execution.Attempt.AttemptResult;
import io.kvasir.execution.Result;
import io.kvasir.execution.RetryState;
import io.kvasir.execution.workflow.DecisionQuery.DecodeOnly;
import io.kvasir.execution.workflow.DecisionQuery.FullPlan;
import io.kvasir.execution.workflow.DecisionQuery.Hedge;
import io.kvasir.execution.workflow.DecisionQuery.SingleStep;
import io.kvasir.execution.workflow.WorkflowActor.Event;
import io.kvasir.routing.RoutingPlan;
import java.net.URI;
import java.time.Duration;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Carries one request out that takes several steps or a retry: which leg goes when, what a failure leads to, and
 * that every reservation is given back. It decides and never waits. An answer's bytes never come here; they go from
 * the winning leg's connection to the client on the client's own thread.
 *
 * <p>A failed step's siblings are stopped at once. A retry of a split request does its prefill again: what engines
 * hand over is good for one use. What goes on without prefill has the decode worker read the prompt. When a client
 * leaves between prefill and decode, nobody is told: the prefill engine's lease ends by itself.
 *
 * <p>Confined to its actor.
 */
final class WorkflowExecution {
  private final WorkflowSupervisor.Services services;
  private final WorkflowSupervisor.WorkflowRequest workflow;
  private final BiConsumer<Duration, Event> scheduler;
  private final RetryState retries;
  private final DecisionQueries queries;
  private final StepStarter starter;
  private final StepRuns runs = new StepRuns();
  private final StepSequence steps;
  private boolean finished;

  /**
   * A workflow about to start.
   *
   * @param self hears of legs that end, from their threads
   * @param away has something done on a thread that may block
   * @param later tells of an event after a while
   */
  WorkflowExecution(
      WorkflowSupervisor.Services services,
      WorkflowSupervisor.WorkflowRequest order,
      Consumer<Event> self,
      Consumer<Supplier<Event>> away,
      BiConsumer<Duration, Event> later) {
    this.services = services;
    this.workflow = order;
    this.scheduler = later;
    this.retries = order.retries();
    this.queries = new DecisionQueries(services.cells(), order.call(), retries, away);
    this.starter = new StepStarter(services.execution(), order, self, later);
    this.steps = new StepSequence(services, order, runs, starter, away, this);
  }

  void start() {
    WorkflowState planned = workflow.state();
    if (planned == null) {
      askAfter(workflow.pause(), new FullPlan(false, false));
    } else {
      steps.start(planned);
    }
  }

  /** Whether there is a result and nothing runs any more. */
  boolean isDone() {
    return finished && runs.isEmpty();
  }

  void on(Event event) {
    switch (event) {
      case Event.CancelRequested _ -> {
        runs.stopAll(AbortReason.CLIENT_CANCELLED);
        finish(retries.clientCancelled());
      }
      case Event.DeadlineExceeded _ -> {
        if (!finished) {
          runs.stopAll(AbortReason.TOTAL_TIMEOUT);
          finish(retries.timedOut());
        }
      }
      case Event.PauseElapsed(DecisionQuery question) -> ask(question);
      case Event.HedgeDue(StepRun first) -> hedge(first);
      case Event.StepTimedOut(StepRun run) -> run.stop(AbortReason.STEP_TIMEOUT);
      case Event.DecisionReceived decided -> decided(decided);
      case Event.PreprocessingReady(Decision.Chosen step, PendingPreprocessing preparing) ->
          steps.preprocessingReady(step, preparing);
      case Event.BootstrapReceived(WorkflowState told) -> steps.proceed(told);
      case Event.BootstrapFailed(AttemptResult.Failed failure) -> {
        Decision.Chosen prefill = steps.bootstrapFailed(failure);
        if (prefill != null) {
          failed(prefill, failure);
        }
      }
      case Event.RequestEnded leg -> {
        boolean counts = runs.isCurrent(leg.run());
        boolean last = runs.requestEnded(leg.run());
        ended(leg, counts && !finished, last);
      }
      case Event.BackgroundTaskFailed(RuntimeException why) -> crashed(why);
      case Event.BackgroundTaskDone(Event inner) -> on(inner);
    }
  }

  /** Something that must not happen did: the client is told, and nothing is left behind. */
  void crashed(RuntimeException why) {
    if (!finished) {
      finished = true;
      workflow.result().completeExceptionally(why);
    }
    runs.stopAll(AbortReason.NOT_NEEDED);
    steps.releaseReserved();
  }

  /** The actor was stopped, perhaps before its time. */
  void stopped() {
    if (!isDone()) {
      queries.close();
      starter.close();
    }
    runs.stopAll(AbortReason.NOT_NEEDED);
    finish(retries.noWorker(
        new Decision.NoWorker(Decision.NoWorkerReason.NO_HOME, "This router node is stopping. Try again.")));
  }

  // Asking for workers.

  private void askAfter(Duration pause, DecisionQuery question) {
    if (pause.isZero()) {
      ask(question);
    } else {
      scheduler.accept(pause, new Event.PauseElapsed(question));
    }
  }

  private void ask(DecisionQuery question) {
    if (finished) {
      return;
    }
    queries.query(question, steps.state());
  }

  private void decided(Event.DecisionReceived decided) {
    retries.recordDecision(decided.nanos());
    WorkflowState begun = decided.state();
    switch (decided.decision()) {
      case Decision.Planned planned when finished || begun == null -> planned.close(new Outcome.Cancelled());
      case Decision.Planned planned -> {
        switch (decided.question()) {
          case FullPlan _ -> steps.start(begun);
          case DecodeOnly _ -> {
            planned.last().reservation().prefillLocally();
            steps.start(begun);
          }
          case SingleStep _ -> steps.proceed(begun, planned.last());
          case Hedge(StepRun first) -> startHedge(first, planned, begun);
        }
      }
      case Decision.NoWorker none -> nobody(decided.question(), none);
    }
  }

  private void nobody(DecisionQuery question, Decision.NoWorker none) {
    switch (question) {
      case FullPlan(boolean orAlone, boolean _) when orAlone -> ask(new DecodeOnly("nobody left"));
      case SingleStep(String name) when steps.state().isOptional(name) -> steps.skip(name, "nobody left");
      case Hedge _ -> {
        // The first is on its way.
      }
      default -> finish(retries.noWorker(none));
    }
  }

  /** The request turned out to be one that cannot be divided; what was booked for it is given back. */
  void cannotSplit(WorkflowState begun, String unfit) {
    if (begun.singleWorker()) {
      finish(retries.noWorker(new Decision.NoWorker(
          Decision.NoWorkerReason.NONE_HEALTHY,
          "This request has to be served by one worker (" + unfit + "), and none of the model's serves one alone.")));
    } else {
      ask(new FullPlan(false, true));
    }
  }

  // What legs came to.

  private void ended(Event.RequestEnded leg, boolean counts, boolean last) {
    StepRun run = leg.run();
    told(run, leg.result());
    if (!counts) {
      if (leg.result() instanceof AttemptResult.Responded(Result.Streaming _)) {
        leg.upstream().abandon();
      }
      return;
    }
    boolean forClient = isLast(run);
    switch (leg.result()) {
      case AttemptResult.Aborted _ -> finish(retries.clientCancelled());
      case AttemptResult.Failed failure -> {
        runs.stop(run, AbortReason.NOT_NEEDED);
        failed(run.chosen(), failure);
      }
      case AttemptResult.Responded(Result answer) when forClient -> won(run, answer);
      case AttemptResult.Responded(Result.Buffered whole) when whole.status() < 300 -> {
        run.setAnswer(leg.request(), whole.body());
        if (last) {
          steps.stepDone(run, whole, leg.prefillResult());
        }
      }
      case AttemptResult.Responded(Result.Buffered whole) -> {
        runs.stop(run, AbortReason.NOT_NEEDED);
        refused(run, whole);
      }
      case AttemptResult.Responded _ -> {
        leg.upstream().abandon();
        runs.stop(run, AbortReason.NOT_NEEDED);
        failed(run.chosen(), new AttemptResult.Failed("protocol", "an answer without end", false, false, true, null));
      }
    }
  }

  private boolean isLast(StepRun run) {
    return run.name().equals(steps.last());
  }

  /** There is an answer for the client: nobody else is needed for it, but prefill beside it ends by itself. */
  private void won(StepRun run, Result answer) {
    StepRun twin = runs.hedgeOf(run);
    if (twin != null) {
      services.execution().metrics().hedged(run.isHedge());
      runs.stop(twin, AbortReason.NOT_NEEDED);
    }
    finish(answer);
  }

  /** An error that is the client's own doing, as far as the worker can tell: another would say the same. */
  private void refused(StepRun run, Result.Buffered whole) {
    if (run.name().equals(RoutingPlan.PREFILL)) {
      runs.stopAll(AbortReason.NOT_NEEDED);
      finish(whole);
    } else {
      failed(run.chosen(), new AttemptResult.Failed("error", "status " + whole.status(), false, false, false, whole));
    }
  }

  private void failed(Decision.Chosen step, AttemptResult.Failed failure) {
    retries.recordFailure(step.worker(), failure);
    URI server = steps.state().bootstrapServer();
    if (server != null) {
      services.bootstraps().invalidate(server);
    }
    if (workflow.cancellation().isCancelled()) {
      finish(retries.clientCancelled());
      return;
    }
    String name = step.step().name();
    boolean isLast = name.equals(steps.last());
    if (isLast && runs.has(name)) {
      // The one that hedges, or is hedged, may still answer.
      return;
    }
    boolean beside = !isLast && !steps.isPending(steps.last());
    runs.stopAll(AbortReason.NOT_NEEDED);
    Recovery.FailedStep kind =
        isLast ? Recovery.FailedStep.LAST : beside ? Recovery.FailedStep.CONCURRENT : Recovery.FailedStep.BEFORE;
    switch (Recovery.of(step.step(), kind, steps.state().isOptional(name), failure, retries::acquireRetry)) {
      case Recovery.Replan(Duration pause, boolean orAlone) -> {
        steps.releaseReserved();
        askAfter(pause, new FullPlan(orAlone, steps.state().singleWorker()));
      }
      case Recovery.RetryStep(Duration pause) -> askAfter(pause, new SingleStep(name));
      case Recovery.SkipStep() when beside -> ask(new DecodeOnly(failure.why()));
      case Recovery.SkipStep() -> steps.skip(name, failure.why());
      case Recovery.FailRequest() -> finish(retries.exhausted(failure));
    }
  }

  // Hedging.

  /** Has a second worker asked if the first takes long. */
  void scheduleHedge(StepRun first) {
    Duration after = services.execution().settings().hedgeAfter();
    if (after != null && workflow.call().retryable() && !steps.state().several()) {
      scheduler.accept(after, new Event.HedgeDue(first));
    }
  }

  private void hedge(StepRun first) {
    if (!finished && runs.isCurrent(first) && retries.acquireHedge()) {
      ask(new Hedge(first));
    }
  }

  private void startHedge(StepRun first, Decision.Planned planned, WorkflowState begun) {
    if (!runs.isCurrent(first) || planned.steps().size() > 1) {
      planned.close(new Outcome.Cancelled());
      return;
    }
    steps.startHedge(planned, begun);
  }

  // The end.

  /** Whether there is a result. */
  boolean finished() {
    return finished;
  }

  /** Tells the client, once; nothing new begins any more. */
  void finish(Result result) {
    if (finished) {
      return;
    }
    finished = true;
    steps.releaseReserved();
    workflow.result().complete(result);
  }

  private void told(StepRun run, AttemptResult result) {
    WorkflowState course = steps.state();
    if (course.several()) {
      services.execution().metrics().stepRequestEnded(course.dialectName(), run.name(), switch (result) {
        case AttemptResult.Responded(Result.Buffered whole) when whole.status() >= 300 -> "refused";
        case AttemptResult.Responded _ -> "answered";
        case AttemptResult.Failed failed -> failed.why();
        case AttemptResult.Aborted _ -> "stopped";
      });
    }
  }
}
