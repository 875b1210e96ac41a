package io.kvasir.execution.workflow;

import io.kvasir.cell.Cells;
import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.AbortReason;
import io.kvasir.execution.Attempt;
import io.kvasir.execution.Call;
import io.kvasir.execution.CallListener;
import io.kvasir.execution.ExecutionMetrics;
import io.kvasir.execution.ExecutionServices;
import io.kvasir.execution.ExecutionSettings;
import io.kvasir.execution.PodRequests;
import io.kvasir.execution.Result;
import io.kvasir.execution.RetryBudget;
import io.kvasir.execution.RetryState;
import io.kvasir.execution.Task;
import io.kvasir.execution.UpstreamRequest;
import io.kvasir.execution.Warmup;
import io.kvasir.execution.dialect.ClientRequest;
import io.kvasir.execution.dialect.PreprocessingStep;
import io.kvasir.http.Cancellation;
import io.kvasir.http.CancellationSource;
import io.kvasir.http.client.PodClient;
import io.kvasir.telemetry.Metrics;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import org.apache.pekko.actor.typed.ActorSystem;
import org.jspecify.annotations.Nullable;

/**
 * Carries requests out: asks the cells for workers and sends the request there. One worker's request is tried right
 * here, on the caller's thread; one that takes several steps, or a retry, gets a workflow actor.
 *
 * <p>Thread-safe; calls block, so they belong on virtual threads.
 */
public final class Dispatcher implements AutoCloseable {
  private final Cells cells;
  private final ExecutionServices services;
  private final RetryBudget budget;
  private final WorkflowSupervisor workflows;
  private final ScheduledThreadPoolExecutor timer;

  /**
   * A dispatcher with a timer thread of its own. The pod client stays its owner's to close.
   *
   * @param system keeps the workflow actors
   * @param preparations how steps before the prompt is read are done, by the names that plans give them
   * @param warmup comes before a worker is asked to read a prompt
   */
  public Dispatcher(
      ActorSystem<?> system,
      Cells cells,
      PodClient pods,
      ExecutionSettings settings,
      Map<String, PreprocessingStep> preparations,
      Warmup warmup,
      Metrics metrics) {
    this.cells = cells;
    this.timer = new ScheduledThreadPoolExecutor(
        1, Thread.ofPlatform().daemon().name("kvasir-deadlines").factory());
    timer.setRemoveOnCancelPolicy(true);
    this.services = new ExecutionServices(pods, settings, new ExecutionMetrics(metrics), timer, warmup);
    this.budget = new RetryBudget(settings.retries(), System.nanoTime());
    this.workflows = new WorkflowSupervisor(
        system, new WorkflowSupervisor.Services(cells, services, Map.copyOf(preparations), new BootstrapCache(pods)));
  }

  /**
   * Carries a call out, until there is an answer for the client or none can be had.
   *
   * @throws InterruptedException when the thread is interrupted while a workflow goes on; it is given up then
   */
  public Result execute(Call call, Cancellation client, CallListener listener) throws InterruptedException {
    CancellationSource cancellation = new CancellationSource();
    client.onCancelled(cancellation::cancel);
    budget.recordRequest();
    if (call.maxResumes() == 0 || !call.decision().stream()) {
      return carry(call, cancellation, listener, new RetryState(call, services, budget));
    }
    ClientRequest asked = ClientRequest.of(call.target(), call.body());
    String unfit = asked == null ? "body" : Continuation.unsupportedReason(asked);
    if (asked == null || unfit != null) {
      CallListener counting = new UnresumedListener(listener, String.valueOf(unfit), services.metrics());
      return carry(call, cancellation, counting, new RetryState(call, services, budget));
    }
    Call read = call.withUsage();
    RetryState trials = new RetryState(read, services, budget);
    Resumption resumption = new Resumption(
        call, new Continuation(asked), listener, cancellation, trials, services.metrics(),
        (next, hears, tries) -> carry(next, cancellation, hears, tries));
    return resumption.wrap(carry(read, cancellation, resumption, trials));
  }

  private Result carry(Call call, CancellationSource cancellation, CallListener listener, RetryState trials)
      throws InterruptedException {
    String id = trials.nextRequestId();
    long before = System.nanoTime();
    Decision decision = cells.decide(call.decision());
    trials.recordDecision(System.nanoTime() - before);
    return switch (decision) {
      case Decision.NoWorker none -> trials.noWorker(none);
      case Decision.Planned planned when planned.steps().size() > 1 || services.settings().hedgeAfter() != null -> {
        WorkflowState course;
        try {
          course = WorkflowState.of(call, planned, id, null, false);
        } catch (RuntimeException e) {
          planned.close(new Outcome.Cancelled());
          throw e;
        }
        yield workflow(call, cancellation, listener, trials, course, Duration.ZERO);
      }
      case Decision.Planned planned -> once(call, cancellation, listener, trials, planned, id);
    };
  }

  /** Stops the workflows and the timer: deadlines are not kept any more. */
  @Override
  public void close() {
    workflows.close();
    timer.shutdownNow();
  }

  private Result once(
      Call call, CancellationSource cancellation, CallListener listener, RetryState trials, Decision.Planned planned,
      String id)
      throws InterruptedException {
    Decision.Chosen chosen = planned.last();
    trials.recordTry(chosen.worker());
    int wholeBytes = services.settings().maxBufferedBytes();
    UpstreamRequest leg = new UpstreamRequest(
        chosen,
        () -> {
          services.warmup().prepare(call, chosen);
          return Task.single(call, chosen, PodRequests.original(call, chosen.worker(), id), planned.reason(),
              wholeBytes);
        },
        services,
        listener,
        trials.deadline(),
        trials.counts());
    cancellation.onCancelled(() -> leg.abort(AbortReason.CLIENT_CANCELLED));
    return switch (leg.run()) {
      case Attempt.AttemptResult.Responded(Result result) -> result;
      case Attempt.AttemptResult.Aborted _ -> trials.clientCancelled();
      case Attempt.AttemptResult.Failed failed -> {
        trials.recordFailure(chosen.worker(), failed);
        yield cancellation.isCancelled() ? trials.clientCancelled()
            : again(call, cancellation, listener, trials, planned, failed);
      }
    };
  }

  private Result again(
      Call call,
      CancellationSource cancellation,
      CallListener listener,
      RetryState trials,
      Decision.Planned planned,
      Attempt.AttemptResult.Failed failed)
      throws InterruptedException {
    return switch (Recovery.of(planned.last().step(), Recovery.FailedStep.LAST, false, failed, trials::acquireRetry)) {
      case Recovery.Replan(Duration pause, boolean _) ->
          workflow(call, cancellation, listener, trials, null, pause);
      case Recovery.RetryStep _, Recovery.SkipStep _, Recovery.FailRequest _ -> trials.exhausted(failed);
    };
  }

  private Result workflow(
      Call call,
      CancellationSource cancellation,
      CallListener listener,
      RetryState trials,
      @Nullable WorkflowState course,
      Duration pause)
      throws InterruptedException {
    CompletableFuture<Result> result = new CompletableFuture<>();
    if (!workflows.start(
        new WorkflowSupervisor.WorkflowRequest(call, cancellation, listener, trials, course, pause, result))) {
      if (course != null) {
        course.plan().close(new Outcome.Cancelled());
      }
      return trials.noWorker(new Decision.NoWorker(
          Decision.NoWorkerReason.ALL_FULL, "This router carries out as many requests of several steps as it may."));
    }
    try {
      return result.get();
    } catch (InterruptedException e) {
      cancellation.cancel();
      var _ = result.thenAccept(Dispatcher::abandon);
      throw e;
    } catch (ExecutionException e) {
      throw e.getCause() instanceof RuntimeException why ? why : new IllegalStateException(e.getCause());
    }
  }

  private static void abandon(Result result) {
    if (result instanceof Result.Streaming streaming) {
      streaming.body().abandon();
    }
  }
}
