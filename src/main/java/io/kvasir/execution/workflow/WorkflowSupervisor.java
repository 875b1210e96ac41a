package io.kvasir.execution.workflow;

import io.kvasir.cell.Cells;
import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.Result;
import io.kvasir.execution.attempt.AttemptResult;
import io.kvasir.execution.attempt.CallContext;
import io.kvasir.execution.attempt.Execution;
import io.kvasir.execution.attempt.ExecutionServices;
import io.kvasir.execution.attempt.RetryPolicy;
import io.kvasir.execution.attempt.RetryState;
import io.kvasir.execution.dialect.PreprocessingStep;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.PostStop;
import org.apache.pekko.actor.typed.Props;
import org.apache.pekko.actor.typed.javadsl.Behaviors;

/**
 * The workflows of a node: an actor for each request that takes several steps or a retry. Their number is bounded; they
 * stop with the node. Thread-safe; calls block until the workflow has a result.
 */
public final class WorkflowSupervisor implements AutoCloseable {
  private static final AtomicInteger NAMES = new AtomicInteger();

  private final WorkflowIo.Services services;
  private final AtomicInteger running = new AtomicInteger();
  private final ActorRef<Command> supervisor;
  /** Workflows whose actor has not been spawned: they end when the supervisor stops before. */
  private final Set<Command.Start> queued = ConcurrentHashMap.newKeySet();
  private volatile boolean stopped;

  /** A message to the supervisor's actor. */
  private sealed interface Command {
    /** Spawns a workflow. */
    final class Start implements Command {
      private final WorkflowRequest request;

      Start(WorkflowRequest request) {
        this.request = request;
      }
    }

    /** Stops every workflow. */
    record Shutdown() implements Command {}
  }

  /**
   * The workflows of a node.
   *
   * @param preprocessing how steps before prefill are done, by the names that plans give them
   */
  public WorkflowSupervisor(
      ActorSystem<?> system,
      Cells cells,
      ExecutionServices execution,
      RetryPolicy retries,
      Map<String, PreprocessingStep> preprocessing) {
    BootstrapCache bootstraps = new BootstrapCache(execution.pods(), execution.clock());
    this.services = new WorkflowIo.Services(cells, execution, retries, Map.copyOf(preprocessing), bootstraps);
    this.supervisor = system.systemActorOf(behavior(), "workflows-" + NAMES.incrementAndGet(), Props.empty());
  }

  /**
   * Carries out a plan in a workflow: one with several steps, or one that may be hedged.
   *
   * @param requestId {@code X-Request-Id} of the try
   * @throws InterruptedException when the thread is interrupted meanwhile; the call is cancelled then
   */
  public Execution execute(CallContext context, RetryState retries, Decision.Planned planned, String requestId)
      throws InterruptedException {
    PlanState plan;
    try {
      plan = PlanState.of(context.call(), planned, requestId, null, false);
    } catch (RuntimeException | Error e) {
      planned.close(new Outcome.Cancelled());
      throw e;
    }
    return start(context, retries, new WorkflowEvent.PlanStarted(plan));
  }

  /**
   * Goes on in a workflow after the only worker of a plan has failed, if there may be a retry.
   *
   * @param retries the history, the failure included
   * @throws InterruptedException when the thread is interrupted meanwhile; the call is cancelled then
   */
  public Execution retry(
      CallContext context, RetryState retries, Decision.Chosen failed, AttemptResult.Failed failure)
      throws InterruptedException {
    Recovery recovery = Recovery.of(
        failed.step().onFailure(), Recovery.FailedStep.LAST, false,
        () -> services.retries().acquireRetry(retries, failure));
    return switch (recovery) {
      case Recovery.Replan(Duration pause, boolean _) ->
          start(context, retries, new WorkflowEvent.RetryStarted(pause));
      case Recovery.RetryStep _, Recovery.SkipStep _, Recovery.FailRequest _ ->
          new Execution(services.retries().exhausted(retries, failure), retries);
    };
  }

  private Execution start(CallContext context, RetryState retries, WorkflowEvent first) throws InterruptedException {
    WorkflowRequest request = new WorkflowRequest(context, retries, first, new CompletableFuture<>());
    if (running.incrementAndGet() > services.execution().settings().workflows()) {
      running.decrementAndGet();
      services.execution().metrics().retryRefused("workflows");
      reject(request, Decision.NoWorkerReason.ALL_FULL,
          "This router carries out as many requests of several steps as it may.");
    } else {
      services.execution().metrics().workflowStarted();
      Command.Start command = new Command.Start(request);
      queued.add(command);
      supervisor.tell(command);
      if (stopped) {
        discard(command);
      }
    }
    return await(request);
  }

  private static Execution await(WorkflowRequest request) throws InterruptedException {
    try {
      return request.result().get();
    } catch (InterruptedException e) {
      request.context().cancellation().cancel();
      var _ = request.result().thenAccept(WorkflowSupervisor::abandon);
      throw e;
    } catch (ExecutionException e) {
      throw e.getCause() instanceof RuntimeException why ? why : new IllegalStateException(e.getCause());
    }
  }

  private static void abandon(Execution execution) {
    if (execution.result() instanceof Result.Streaming streaming) {
      streaming.body().abandon();
    }
  }

  /** Ends a workflow that has not started. */
  private static void reject(WorkflowRequest request, Decision.NoWorkerReason reason, String detail) {
    if (request.start() instanceof WorkflowEvent.PlanStarted(PlanState plan)) {
      plan.planned().close(new Outcome.Cancelled());
    }
    Result result = request.retries().noWorker(new Decision.NoWorker(reason, detail));
    request.result().complete(new Execution(result, request.retries()));
  }

  /** Stops every workflow: its requests are aborted and its reservations released. */
  @Override
  public void close() {
    supervisor.tell(new Command.Shutdown());
  }

  private Behavior<Command> behavior() {
    return Behaviors.<Command>receive(
        (context, command) -> {
          if (!(command instanceof Command.Start start)) {
            return Behaviors.stopped();
          }
          if (queued.remove(start)) {
            context.spawnAnonymous(WorkflowActor.create(services, start.request, this::ended));
          }
          return Behaviors.same();
        },
        (context, signal) -> {
          if (signal instanceof PostStop) {
            stopped = true;
            queued.forEach(this::discard);
          }
          return Behaviors.same();
        });
  }

  private void discard(Command.Start start) {
    if (queued.remove(start)) {
      reject(start.request, Decision.NoWorkerReason.STOPPING, WorkflowTransitions.NODE_STOPPING);
      ended();
    }
  }

  private void ended() {
    running.decrementAndGet();
    services.execution().metrics().workflowEnded();
  }
}
