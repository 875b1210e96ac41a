package io.kvasir.execution.workflow;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.Report;
import io.kvasir.execution.attempt.AbortReason;
import io.kvasir.execution.dialect.PrefillResult;
import io.kvasir.execution.workflow.DecisionQuery.FullPlan;
import io.kvasir.execution.workflow.DecisionQuery.Hedge;
import io.kvasir.routing.RoutingPlan;
import java.net.URI;
import java.time.Duration;

/**
 * Carries out the plans of a workflow: which step starts when, what is left out, and when a second run is worth its
 * while. What comes of the runs is up to {@link WorkflowTransitions}. Confined to one thread.
 */
final class PlanSteps {
  private final WorkflowRules rules;
  private final Transition next;

  PlanSteps(WorkflowRules rules, Transition next) {
    this.rules = rules;
    this.next = next;
  }

  private WorkflowState state() {
    return next.state();
  }

  // Decisions.

  /** Has a decision made after a pause. */
  void decideAfter(Duration pause, DecisionQuery query) {
    if (pause.isZero()) {
      decide(query);
    } else {
      next.add(new WorkflowEffect.Schedule(pause, new WorkflowEvent.PauseElapsed(query)));
    }
  }

  /** Has a decision made, unless the client has its result. */
  void decide(DecisionQuery query) {
    if (!state().finished()) {
      next.add(new WorkflowEffect.Decide(
          query,
          query.toRequest(rules.call().decision(), state().retries().excluded(), state().plan()),
          state().plan(),
          state().retries().nextRequestId()));
    }
  }

  // Steps.

  /** Begins a plan whose load is booked. */
  void begin(PlanState plan) {
    next.reserve(plan, plan.planned().steps());
    String unsupported = plan.shape().unsupportedReason();
    if (unsupported == null) {
      proceed(plan);
      return;
    }
    next.add(new WorkflowEffect.Count.SplitSkipped(unsupported));
    if (plan.isOptional(RoutingPlan.PREFILL)) {
      proceed(leaveOut(RoutingPlan.PREFILL, "whole: " + unsupported));
      return;
    }
    next.releaseReserved();
    if (plan.shape().singleWorker()) {
      next.finish(state().retries().noWorker(new Decision.NoWorker(
          Decision.NoWorkerReason.NONE_HEALTHY,
          "This request has to be served by one worker (" + unsupported
              + "), and none of the model's serves one alone.")));
    } else {
      decide(new FullPlan(false, true));
    }
  }

  /** Starts every step that can start now. */
  void proceed(PlanState plan) {
    next.set(state().with(plan));
    Decision.Chosen preprocessing = plan.nextPreprocessing();
    Decision.Chosen prefill = plan.prefill();
    URI server = plan.bootstrapServer();
    if (preprocessing != null) {
      next.add(new WorkflowEffect.Preprocess(plan, preprocessing));
    } else if (prefill == null) {
      scheduleHedge(next.start(plan, plan.last(), new StepWork.Whole(), false));
    } else if (server != null && plan.rendezvous().bootstrap() == null) {
      next.add(new WorkflowEffect.FetchBootstrap(server));
    } else {
      next.start(plan, prefill, new StepWork.Prefill(), false);
      if (plan.dialect().concurrent()) {
        startDecode(prefill, PrefillResult.KvBlocks.NOT_AWAITED, predictedReport(prefill));
      }
    }
  }

  /** Starts the last step, which takes over the blocks of prefill. */
  void startDecode(Decision.Chosen prefill, PrefillResult.KvBlocks blocks, Report prefillReport) {
    PlanState plan = state().requirePlan();
    StepRun run = next.start(plan, plan.last(), new StepWork.Decode(prefill, blocks, prefillReport), false);
    next.add(new WorkflowEffect.CheckPrefiller(
        PrefillerWatch.of(run.id(), prefill.worker().id(), rules.call().decision().stream())));
  }

  /** Stops a run that waits for the blocks of a worker that is lost; else has that checked again. */
  void prefillerChecked(PrefillerWatch watch, boolean lost) {
    if (state().finished() || next.activeRun(watch.run()) == null) {
      return;
    }
    PrefillerWatch rest = watch.next();
    if (lost) {
      next.add(new WorkflowEffect.Abort(watch.run(), AbortReason.PREFILLER_LOST));
    } else if (rest != null) {
      next.add(new WorkflowEffect.CheckPrefiller(rest));
    }
  }

  /** The report of a prefill that runs beside decode: only what was predicted is known. */
  private Report predictedReport(Decision.Chosen prefill) {
    return new Report(
        prefill.worker(),
        null,
        state().retries().tries(),
        Report.CachePrediction.of(prefill),
        Report.TokenUsage.UNKNOWN,
        new Report.Timing(state().retries().decideNanos(), 0));
  }

  /** Starts a step whose requests are made, or goes on where it has none. */
  void preprocess(WorkflowEvent.PreprocessingReady ready) {
    if (state().finished()) {
      return;
    }
    if (ready.request() != null) {
      next.set(state().with(state().requirePlan().withRequest(ready.request())));
    }
    if (ready.messages().isEmpty()) {
      proceed(leaveOut(ready.step().step().name(), ""));
    } else {
      next.start(state().requirePlan(), ready.step(), new StepWork.Preprocessing(ready.messages()), false);
    }
  }

  /** Goes on without a step. */
  void skip(String step, String why) {
    next.add(new WorkflowEffect.Count.StepSkipped(step, why));
    proceed(leaveOut(step, "without " + step + ": " + why));
  }

  /** The plan without a step, whose load is released if it has not started. */
  private PlanState leaveOut(String step, String note) {
    PlanState plan = state().requirePlan();
    Decision.Chosen reserved = state().steps().reserved(step);
    if (reserved != null) {
      next.release(reserved, new Outcome.Cancelled());
    }
    if (step.equals(RoutingPlan.PREFILL)) {
      next.add(new WorkflowEffect.PrefillLocally(plan.last()));
    }
    return plan.without(step, note);
  }

  // Hedging.

  private void scheduleHedge(StepRun first) {
    if (rules.hedgeAfter() != null && rules.call().rules().retryable() && !state().requirePlan().shape().several()) {
      next.add(new WorkflowEffect.Schedule(rules.hedgeAfter(), new WorkflowEvent.HedgeDue(first.id())));
    }
  }

  /** Asks for a second worker beside that of a run, if it is still needed. */
  void hedge(int first) {
    StepRun run = next.activeRun(first);
    if (!state().finished() && run != null && rules.retries().acquireHedge()) {
      decide(new Hedge(first, run.chosen().worker().id()));
    }
  }

  /** Starts the hedge of a run, on a worker whose load is booked. */
  void startHedge(int first, PlanState plan) {
    if (next.activeRun(first) == null || plan.shape().several()) {
      next.releaseAll(plan.planned().steps());
      rules.retries().releaseHedge();
      return;
    }
    next.set(state().with(state().retries().withTry(plan.last().worker())));
    next.start(plan, plan.last(), new StepWork.Whole(), true);
  }
}
