package io.kvasir.execution.workflow;

import io.kvasir.cell.Cells;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.execution.Call;
import io.kvasir.execution.CallListener;
import io.kvasir.execution.Result;
import io.kvasir.execution.attempt.Attempt;
import io.kvasir.execution.attempt.AttemptResult;
import io.kvasir.execution.attempt.DecisionTrace;
import io.kvasir.execution.attempt.ExecutionServices;
import io.kvasir.execution.attempt.FailureKind;
import io.kvasir.execution.attempt.RetryPolicy;
import io.kvasir.execution.attempt.RetryState;
import io.kvasir.execution.attempt.Task;
import io.kvasir.execution.dialect.ClientRequest;
import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.execution.dialect.PreprocessingStep;
import io.kvasir.http.Cancellation;
import io.kvasir.http.client.PodException;
import io.kvasir.routing.RoutingPlan;
import io.kvasir.telemetry.RedactedException;
import java.net.URI;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Carries out the effects of one workflow that block or take long, each with the event that follows. Belongs on virtual
 * threads. Thread-safe.
 *
 * @param services shared by all workflows of the node
 * @param call the client's request
 * @param listener notified of the response that streams
 */
record WorkflowIo(Services services, Call call, CallListener listener) {
  private static final Logger LOG = LoggerFactory.getLogger(WorkflowIo.class);

  /**
   * What all workflows of a node share.
   *
   * @param cells decides on workers
   * @param execution sends requests
   * @param retries decides on retries and hedges
   * @param preprocessing how steps before prefill are done, by their names
   * @param bootstraps responses of prefill engines' bootstrap servers
   */
  record Services(
      Cells cells,
      ExecutionServices execution,
      RetryPolicy retries,
      Map<String, PreprocessingStep> preprocessing,
      BootstrapCache bootstraps) {}

  /**
   * Decides, which goes before those who wait; where all workers are full the request waits among them, in the place
   * that it would have if it had come to wait when it began.
   *
   * @param retries what has been tried
   * @param workflow cancelled when the workflow needs no decision any more
   */
  WorkflowEvent decide(WorkflowEffect.Decide effect, RetryState retries, Cancellation workflow) {
    long started = services.execution().clock().nanos();
    Decision decision = services.cells().decide(effect.request());
    long waitedNanos = 0;
    if (isFull(decision) && effect.request().waitsForTurn() && effect.query().waitsForTurn()) {
      DecisionRequest waiting = effect.request().waitingSince(services.retries().elapsedMillis(retries));
      decision = services.cells().decideInTurn(waiting, workflow);
      if (decision instanceof Decision.Planned planned && planned.waitedMillis() > 0) {
        listener.waited(planned.waitedMillis());
        waitedNanos = (planned.waitedMillis() - waiting.waitedMillis()) * 1_000_000;
      }
    }
    long ended = services.execution().clock().nanos();
    DecisionTrace.note(call.trace(), effect.request(), decision, started, ended);
    long nanos = Math.max(0, ended - started - waitedNanos);
    if (!(decision instanceof Decision.Planned planned)) {
      return new WorkflowEvent.DecisionReceived(effect.query(), decision, nanos, null);
    }
    try {
      PlanState plan = effect.query().toPlan(call, effect.before(), planned, effect.requestId());
      return new WorkflowEvent.DecisionReceived(effect.query(), decision, nanos, plan);
    } catch (RuntimeException | Error e) {
      planned.close(new Outcome.Cancelled());
      throw e;
    }
  }

  private static boolean isFull(Decision decision) {
    return decision instanceof Decision.NoWorker none && none.reason() == Decision.NoWorkerReason.ALL_FULL;
  }

  WorkflowEvent preprocess(WorkflowEffect.Preprocess effect) {
    Decision.Chosen step = effect.step();
    PreprocessingStep preprocessing = services.preprocessing().get(step.step().name());
    if (preprocessing == null) {
      throw new IllegalStateException("a plan of %s has a step '%s' that is not known"
          .formatted(effect.plan().planned().workflow(), step.step().name()));
    }
    ClientRequest request = effect.plan().content().current();
    return request == null
        ? new WorkflowEvent.PreprocessingReady(step, null, List.of())
        : new WorkflowEvent.PreprocessingReady(
            step,
            preprocessing.annotated(request),
            preprocessing.requests(request, effect.plan().rendezvous().requestId()));
  }

  /** Whether a worker cannot be reached, or has been removed. Does not block. */
  boolean isLost(String worker) {
    WorkerStatus.Health health = services.cells().health(worker);
    return health == null || health == WorkerStatus.Health.UNHEALTHY;
  }

  WorkflowEvent fetchBootstrap(URI server) {
    try {
      JsonMembers known = services.bootstraps().cached(server);
      return new WorkflowEvent.BootstrapReceived(known == null ? services.bootstraps().fetch(server) : known);
    } catch (PodException e) {
      call.logIds().in(LOG.atWarn()).log("bootstrap server {} failed: {}", server, e.getMessage());
      return new WorkflowEvent.BootstrapFailed(
          AttemptResult.Failed.of(FailureKind.BOOTSTRAP, String.valueOf(e.getMessage()), true));
    }
  }

  void invalidateBootstrap(URI server) {
    services.bootstraps().invalidate(server);
  }

  /**
   * The attempt at one request of a step; it is not sent yet.
   *
   * @param chosen the step, with the load booked for this request
   */
  Attempt attempt(WorkflowEffect.StartStep effect, Decision.Chosen chosen, int request) {
    return new Attempt(
        chosen,
        () -> task(effect, chosen, request),
        services.execution(),
        listener,
        effect.retries());
  }

  private Task task(WorkflowEffect.StartStep effect, Decision.Chosen chosen, int request) {
    if (!effect.plan().shape().several() || chosen.step().name().equals(RoutingPlan.PREFILL)) {
      services.execution().warmup().prepare(call, chosen);
    }
    return tasks(effect).task(chosen, effect.work(), request);
  }

  WorkflowEvent run(WorkflowEffect.StartStep effect, Attempt attempt, int request) {
    try {
      AttemptResult result = attempt.run();
      return new WorkflowEvent.RequestEnded(
          effect.run().id(), request, result, tasks(effect).prefillResult(effect.run().chosen(), result));
    } catch (Throwable e) {
      // An Error, too: the workflow waits for the end of each of its requests.
      call.logIds().in(LOG.atError()).setCause(RedactedException.of(e))
          .log("a request to worker {} failed within the router", effect.run().chosen().worker().id());
      attempt.abandon();
      return new WorkflowEvent.RequestEnded(
          effect.run().id(), request,
          AttemptResult.Failed.of(FailureKind.INTERNAL, e.getClass().getSimpleName(), e instanceof RuntimeException),
          null);
    }
  }

  private StepTasks tasks(WorkflowEffect.StartStep effect) {
    return new StepTasks(call, effect.plan(), services.execution());
  }

  /** Releases what an event holds that its workflow will not receive any more. Idempotent. */
  void discard(WorkflowEvent event, Map<Integer, List<Attempt>> attempts) {
    switch (event) {
      case WorkflowEvent.DecisionReceived(var _, Decision.Planned planned, long _, var _) ->
          planned.close(new Outcome.Cancelled());
      case WorkflowEvent.RequestEnded(int run, int request, AttemptResult.Responded(Result.Streaming _), var _) ->
          attempts.getOrDefault(run, List.of()).get(request).abandon();
      default -> { }
    }
  }
}
