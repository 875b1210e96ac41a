package io.kvasir.execution.workflow;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.Result;
import io.kvasir.execution.attempt.AbortReason;
import io.kvasir.execution.attempt.AttemptResult;
import io.kvasir.execution.attempt.FailureKind;
import io.kvasir.execution.attempt.RetryPolicy;
import io.kvasir.execution.attempt.RetryState;
import io.kvasir.execution.dialect.ClientRequest;
import io.kvasir.execution.dialect.PrefillResult;
import io.kvasir.execution.dialect.PreprocessingStep;
import io.kvasir.execution.workflow.DecisionQuery.DecodeOnly;
import io.kvasir.execution.workflow.DecisionQuery.FullPlan;
import io.kvasir.execution.workflow.DecisionQuery.Hedge;
import io.kvasir.execution.workflow.DecisionQuery.LastResort;
import io.kvasir.execution.workflow.DecisionQuery.SingleStep;
import io.kvasir.routing.RoutingPlan;
import java.net.URI;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The transition function of a workflow: from its state and an event to the next state and the effects that follow.
 * Here is decided what a decision, a result or a failure leads to, and that every reservation is released; which step
 * starts when is up to {@link PlanSteps}. Without threads, I/O or waiting; retries are drawn from the {@link
 * RetryPolicy}. A finished workflow only cleans up, whatever event comes.
 *
 * <p>A failed step's siblings are aborted at once. A retry of a split request repeats its prefill: KV blocks are handed
 * over once. A plan that goes on without prefill has the decode worker compute the prompt. So has the last try where
 * all decode workers failed that were to receive blocks: the fault may be the prefill worker's. A decode worker that
 * waits for the blocks of a prefill worker that is gone, which engines do for minutes, is stopped. When a client
 * cancels between prefill and decode, the prefill engine gets no message: its lease expires.
 */
final class WorkflowTransitions {
  /** The client's message when the node shuts down. */
  static final String NODE_STOPPING = "This router node is stopping. Try again.";

  private final WorkflowRules rules;
  private final Transition next;
  private final PlanSteps steps;

  private WorkflowTransitions(WorkflowRules rules, WorkflowState state) {
    this.rules = rules;
    this.next = new Transition(state);
    this.steps = new PlanSteps(rules, next);
  }

  static Transition next(WorkflowRules rules, WorkflowState state, WorkflowEvent event) {
    WorkflowTransitions transition = new WorkflowTransitions(rules, state);
    transition.on(event);
    return transition.next;
  }

  private WorkflowState state() {
    return next.state();
  }

  private void on(WorkflowEvent event) {
    switch (event) {
      case WorkflowEvent.PlanStarted(PlanState plan) when state().finished() ->
          next.releaseAll(plan.planned().steps());
      case WorkflowEvent.PlanStarted(PlanState plan) -> steps.begin(plan);
      case WorkflowEvent.RetryStarted(Duration pause) -> steps.decideAfter(pause, new FullPlan(false, false));
      case WorkflowEvent.CancelRequested _ -> end(AbortReason.CLIENT_CANCELLED, state().retries().clientCancelled());
      case WorkflowEvent.DeadlineExceeded _ when state().finished() -> {
        // The deadlines of what still runs are its own.
      }
      case WorkflowEvent.DeadlineExceeded _ -> end(AbortReason.TOTAL_TIMEOUT, state().retries().timedOut());
      case WorkflowEvent.NodeStopped _ -> end(
          AbortReason.NOT_NEEDED,
          state().retries().noWorker(new Decision.NoWorker(Decision.NoWorkerReason.STOPPING, NODE_STOPPING)));
      case WorkflowEvent.InternalFailure(Throwable cause) -> next.crash(cause);
      case WorkflowEvent.PauseElapsed(DecisionQuery query) -> steps.decide(query);
      case WorkflowEvent.HedgeDue(int run) -> steps.hedge(run);
      case WorkflowEvent.StepTimedOut(int run) -> {
        if (state().steps().run(run) != null) {
          next.add(new WorkflowEffect.Abort(run, AbortReason.STEP_TIMEOUT));
        }
      }
      case WorkflowEvent.PrefillerChecked(PrefillerWatch watch, boolean lost) -> steps.prefillerChecked(watch, lost);
      case WorkflowEvent.DecisionReceived decided -> decided(decided);
      case WorkflowEvent.PreprocessingReady ready -> steps.preprocess(ready);
      case WorkflowEvent.BootstrapReceived received -> {
        if (!state().finished()) {
          steps.proceed(state().requirePlan().withBootstrap(received.response()));
        }
      }
      case WorkflowEvent.BootstrapFailed(AttemptResult.Failed failure) -> bootstrapFailed(failure);
      case WorkflowEvent.RequestEnded ended -> requestEnded(ended);
    }
  }

  // Decisions.

  private void decided(WorkflowEvent.DecisionReceived decided) {
    next.set(state().with(state().retries().withDecision(decided.nanos())));
    PlanState plan = decided.plan();
    switch (decided.decision()) {
      case Decision.NoWorker none -> noWorker(decided.query(), none);
      case Decision.Planned planned when state().finished() || plan == null -> {
        next.releaseAll(planned.steps());
        if (decided.query() instanceof Hedge) {
          rules.retries().releaseHedge();
        }
      }
      case Decision.Planned planned -> {
        switch (decided.query()) {
          case FullPlan _, LastResort _ -> steps.begin(plan);
          case DecodeOnly _ -> {
            next.add(new WorkflowEffect.PrefillLocally(planned.last()));
            steps.begin(plan);
          }
          case SingleStep _ -> {
            next.reserve(plan, planned.steps());
            steps.proceed(plan);
          }
          case Hedge(int first, String _) -> steps.startHedge(first, plan);
        }
      }
    }
  }

  private void noWorker(DecisionQuery query, Decision.NoWorker none) {
    switch (query) {
      case FullPlan(boolean orDecodeOnly, boolean _) when orDecodeOnly -> steps.decide(new DecodeOnly("nobody left"));
      case FullPlan _, DecodeOnly _ when !state().retries().failedReceivers().isEmpty() -> {
        next.set(state().with(state().retries().readmittingReceivers()));
        steps.decide(new LastResort());
      }
      case SingleStep(String name) when !state().finished() && state().requirePlan().isOptional(name) ->
          steps.skip(name, "nobody left");
      // The first run goes on.
      case Hedge _ -> rules.retries().releaseHedge();
      case FullPlan _, SingleStep _, DecodeOnly _, LastResort _ -> next.finish(state().retries().noWorker(none));
    }
  }

  private void bootstrapFailed(AttemptResult.Failed failure) {
    Decision.Chosen prefill = state().steps().reserved(RoutingPlan.PREFILL);
    if (prefill != null) {
      next.release(prefill, new Outcome.Failed(failure.kind().isOfTransport(), failure.detail()));
      failed(prefill, failure);
    }
  }

  // Results.

  private void requestEnded(WorkflowEvent.RequestEnded ended) {
    StepRun before = state().steps().run(ended.run());
    if (before == null) {
      return;
    }
    count(before, ended.result());
    StepRun run = before.withRequestEnded();
    next.set(state().with(state().steps().with(run)));
    if (state().finished() || run.stopped()) {
      if (ended.result() instanceof AttemptResult.Responded(Result.Streaming _)) {
        next.add(new WorkflowEffect.AbandonResponse(ended.run(), ended.request()));
      }
      return;
    }
    boolean last = run.name().equals(state().requirePlan().last().step().name());
    switch (ended.result()) {
      case AttemptResult.Aborted _ -> next.finish(state().retries().clientCancelled());
      case AttemptResult.Failed failure -> {
        next.stop(run, AbortReason.NOT_NEEDED);
        failed(run.chosen(), failure);
      }
      case AttemptResult.Responded(Result response) when last -> won(run, response);
      case AttemptResult.Responded(Result.Buffered response) when response.status() < 300 ->
          responded(run.withAnswer(ended.request(), response.body()), response, ended.prefillResult());
      case AttemptResult.Responded(Result.Buffered response) -> {
        next.stop(run, AbortReason.NOT_NEEDED);
        rejected(run, response);
      }
      case AttemptResult.Responded _ -> {
        next.add(new WorkflowEffect.AbandonResponse(ended.run(), ended.request()));
        next.stop(run, AbortReason.NOT_NEEDED);
        failed(run.chosen(), AttemptResult.Failed.of(FailureKind.PROTOCOL, "an answer without end", true));
      }
    }
  }

  /** A response that the router reads has arrived: with the run's last one, the next step starts. */
  private void responded(StepRun run, Result.Buffered response, @Nullable PrefillResult prefillResult) {
    next.set(state().with(state().steps().with(run)));
    if (run.open() > 0) {
      return;
    }
    if (!run.name().equals(RoutingPlan.PREFILL)) {
      PlanState plan = state().requirePlan();
      PreprocessingStep step = rules.preprocessing().get(run.name());
      ClientRequest request = plan.content().current();
      if (step == null || request == null) {
        throw new IllegalStateException("nothing was preprocessed by " + run.name());
      }
      steps.proceed(plan.without(run.name(), "").withRequest(step.apply(request, run.answers())));
      return;
    }
    switch (prefillResult) {
      // Beside decode, which needs nothing of it.
      case null -> { }
      case PrefillResult.KvBlocks blocks -> steps.startDecode(run.chosen(), blocks, response.report());
      case PrefillResult.NoBlocks(String why) -> steps.skip(RoutingPlan.PREFILL, why);
      case PrefillResult.FinalAnswer answer ->
          next.finish(
              state().requirePlan()
                  .finalAnswer(run.chosen(), answer, rules.call().rules().stripUsage(), response.report()));
    }
  }

  /** The client's response has arrived: a hedge is not needed any more, but prefill beside it ends by itself. */
  private void won(StepRun run, Result response) {
    StepRun twin = state().steps().activeRun(run.name(), run.id());
    if (twin != null) {
      next.add(new WorkflowEffect.Count.Hedged(run.hedge()));
      next.stop(twin, AbortReason.NOT_NEEDED);
    }
    next.finish(response);
  }

  /** An error response that the worker blames on the client's request: another worker would send the same. */
  private void rejected(StepRun run, Result.Buffered response) {
    if (run.name().equals(RoutingPlan.PREFILL)) {
      end(AbortReason.NOT_NEEDED, response);
    } else {
      failed(
          run.chosen(),
          new AttemptResult.Failed(
              FailureKind.ERROR, "status " + response.status(), false,
              response));
    }
  }

  private void failed(Decision.Chosen chosen, AttemptResult.Failed failure) {
    PlanState plan = state().requirePlan();
    boolean receiver = plan.receives(chosen) && failure.kind().isErrorOrTimeout();
    RetryState failed = state().retries().withFailure(chosen.worker(), failure);
    next.set(state().with(receiver ? failed.withFailedReceiver(chosen.worker()) : failed));
    URI server = plan.bootstrapServer();
    if (server != null) {
      next.add(new WorkflowEffect.InvalidateBootstrap(server));
    }
    String name = chosen.step().name();
    String lastName = plan.last().step().name();
    boolean last = name.equals(lastName);
    if (last && state().steps().activeRun(name, -1) != null) {
      // The run that hedges, or is hedged, may still respond.
      return;
    }
    boolean concurrent = !last && state().steps().reserved(lastName) == null;
    next.stopAll(AbortReason.NOT_NEEDED);
    Recovery.FailedStep place =
        last ? Recovery.FailedStep.LAST
            : concurrent ? Recovery.FailedStep.CONCURRENT
            : Recovery.FailedStep.BEFORE;
    Recovery recovery = Recovery.of(
        chosen.step().onFailure(), place, plan.isOptional(name) && !rules.retries().isLastDisconnect(state().retries()),
        () -> rules.retries().acquireRetry(state().retries(), failure));
    switch (recovery) {
      case Recovery.Replan(Duration pause, boolean orDecodeOnly) -> {
        next.releaseReserved();
        steps.decideAfter(pause, new FullPlan(orDecodeOnly, plan.shape().singleWorker()));
      }
      case Recovery.RetryStep(Duration pause) -> steps.decideAfter(pause, new SingleStep(name));
      case Recovery.SkipStep() when concurrent -> steps.decide(new DecodeOnly(failure.kind().label()));
      case Recovery.SkipStep() -> steps.skip(name, failure.kind().label());
      case Recovery.FailRequest() -> next.finish(rules.retries().exhausted(state().retries(), failure));
    }
  }

  private void count(StepRun run, AttemptResult result) {
    PlanState plan = state().requirePlan();
    if (plan.shape().several()) {
      next.add(new WorkflowEffect.Count.RequestEnded(plan.dialectName(), run.name(), switch (result) {
        case AttemptResult.Responded(Result.Buffered response) when response.status() >= 300 -> "refused";
        case AttemptResult.Responded _ -> "answered";
        case AttemptResult.Failed failed -> failed.kind().label();
        case AttemptResult.Aborted _ -> "stopped";
      }));
    }
  }

  // The end.

  private void end(AbortReason reason, Result result) {
    next.stopAll(reason);
    next.finish(result);
  }
}
