package io.kvasir.execution.dispatch;

import io.kvasir.cell.Cells;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.execution.Call;
import io.kvasir.execution.CallListener;
import io.kvasir.execution.ExecutionMetrics;
import io.kvasir.execution.ExecutionSettings;
import io.kvasir.execution.Result;
import io.kvasir.execution.TokenCounter;
import io.kvasir.execution.Warmup;
import io.kvasir.execution.attempt.AbortReason;
import io.kvasir.execution.attempt.Attempt;
import io.kvasir.execution.attempt.AttemptResult;
import io.kvasir.execution.attempt.CallContext;
import io.kvasir.execution.attempt.DecisionTrace;
import io.kvasir.execution.attempt.Execution;
import io.kvasir.execution.attempt.ExecutionServices;
import io.kvasir.execution.attempt.PodRequests;
import io.kvasir.execution.attempt.RetryBudget;
import io.kvasir.execution.attempt.RetryPolicy;
import io.kvasir.execution.attempt.RetryState;
import io.kvasir.execution.attempt.Task;
import io.kvasir.execution.dialect.ChatConversion;
import io.kvasir.execution.dialect.PreprocessingStep;
import io.kvasir.execution.stream.TextBudget;
import io.kvasir.execution.workflow.WorkflowSupervisor;
import io.kvasir.http.Cancellation;
import io.kvasir.http.CancellationSource;
import io.kvasir.http.client.PodClient;
import io.kvasir.http.client.PodRequest;
import io.kvasir.routing.Worker;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import org.apache.pekko.actor.typed.ActorSystem;
import org.jspecify.annotations.Nullable;

/**
 * Carries out calls: has the cells decide and sends the request to the chosen worker. The first try at a single worker
 * runs on the caller's thread; several steps, a retry or a hedge run in a workflow.
 *
 * <p>Thread-safe; calls block, so they belong on virtual threads.
 */
public final class Dispatcher implements AutoCloseable {
  /** The part of the heap that what streams have said so far may take. */
  private static final int TEXTS = 16;

  private final Cells cells;
  private final ExecutionServices services;
  private final RetryPolicy retryPolicy;
  private final DeathWatch deaths;
  private final Resumption.Services resumptions;
  private final WorkflowSupervisor workflows;
  private final DeadlineTimer timer = new DeadlineTimer("kvasir-deadlines");

  /**
   * A dispatcher with a timer thread of its own. The pod client stays its owner's to close.
   *
   * @param system runs the workflow actors
   * @param preprocessing how steps before prefill are done, by the names that plans give them
   * @param warmup runs before a worker is sent a prompt
   * @param tokens counts what was generated of streams that are to be continued
   * @param conversion makes chats of requests that cannot be split, or gone on with, as they are
   */
  public Dispatcher(
      ActorSystem<?> system,
      Cells cells,
      PodClient pods,
      ExecutionSettings settings,
      Map<String, PreprocessingStep> preprocessing,
      Warmup warmup,
      TokenCounter tokens,
      ChatConversion conversion,
      Metrics metrics) {
    this.cells = cells;
    NanoClock clock = NanoClock.SYSTEM;
    ExecutionMetrics own = new ExecutionMetrics(metrics);
    this.retryPolicy = new RetryPolicy(
        settings, new RetryBudget(settings.retries(), clock), own, clock,
        () -> ThreadLocalRandom.current().nextDouble());
    this.services = new ExecutionServices(
        pods, settings, own, clock, timer, warmup, cells::learntEngine, conversion,
        new StrandedRequests(cells, retryPolicy, clock));
    this.deaths = new DeathWatch(retryPolicy, this::isDown, services.timer());
    this.resumptions = new Resumption.Services(
        retryPolicy, services.metrics(), new TextBudget(Runtime.getRuntime().maxMemory() / TEXTS), tokens,
        conversion, this::execute);
    this.workflows = new WorkflowSupervisor(system, cells, services, retryPolicy, preprocessing);
  }

  /**
   * Carries out a call until there is a response for the client, or none can be had.
   *
   * @throws InterruptedException when the thread is interrupted during a workflow; the call is cancelled then
   */
  public Result execute(Call call, Cancellation client, CallListener listener) throws InterruptedException {
    Result result = executeResumably(call, client, deaths.listener(call, listener));
    if (result instanceof Result.Unreachable unreachable && unreachable.disconnected()) {
      deaths.ended(call, unreachable.report());
    }
    return result;
  }

  private Result executeResumably(Call call, Cancellation client, CallListener listener) throws InterruptedException {
    CancellationSource cancellation = new CancellationSource();
    client.onCancelled(cancellation::cancel);
    RetryState retries = retryPolicy.begin(call);
    Result refusal = retryPolicy.refusal(retries);
    if (refusal != null) {
      return refusal;
    }
    if (call.maxResumes() == 0 || !call.decision().stream()) {
      return execute(new CallContext(call, cancellation, listener), retries).result();
    }
    Resumption resumption = new Resumption(call, listener, cancellation, resumptions);
    return resumption.wrap(execute(new CallContext(resumption.begun(), cancellation, resumption.listener()), retries));
  }

  private Execution execute(CallContext context, RetryState begun) throws InterruptedException {
    DecisionRequest request = preemptible(context.call());
    RetryState retries = begun;
    while (true) {
      long startNanos = services.clock().nanos();
      Execution execution = executeInTurn(context, request, retries);
      if (execution != null) {
        return execution;
      }
      request = request.preempted((services.clock().nanos() - startNanos) / 1_000_000);
      retries = retries.withPreemption();
    }
  }

  /** What may be sent twice, and has one worker at a time, may be taken back from it; the rest may not. */
  private DecisionRequest preemptible(Call call) {
    boolean repeatable = call.rules().retryable() && !call.http().upgrades();
    return repeatable && services.settings().hedgeAfter() == null ? call.decision() : call.decision().unpreemptible();
  }

  /** Null when the request was taken back from its worker, and waits for another turn. */
  private @Nullable Execution executeInTurn(CallContext context, DecisionRequest request, RetryState begun)
      throws InterruptedException {
    String requestId = begun.nextRequestId();
    Decided decided =
        decided(
            context.call(), request, context.listener(), begun,
            its -> cells.decideInTurn(its, context.cancellation()));
    RetryState retries = decided.retries();
    return switch (decided.decision()) {
      case Decision.NoWorker _ when context.cancellation().isCancelled() ->
          new Execution(retries.clientCancelled(), retries);
      case Decision.NoWorker _ when !retries.failedReceivers().isEmpty() -> {
        RetryState readmitting = retries.readmittingReceivers();
        yield executeInTurn(
            context, request.onSingleWorker().without(readmitting.excluded()), readmitting);
      }
      case Decision.NoWorker none -> new Execution(retries.noWorker(none), retries);
      case Decision.Planned planned when planned.steps().size() > 1 || services.settings().hedgeAfter() != null ->
          workflows.execute(context, retries, planned, requestId);
      case Decision.Planned planned ->
          attempt(context, retries.withTry(planned.last().worker()), planned, requestId);
    };
  }

  /**
   * Carries out a call at one worker, without another try: there is only one request to be handed over.
   *
   * @param handover decides, and takes the request to the worker
   */
  public Result executeOnce(Call call, Cancellation client, CallListener listener, Handover handover) {
    RetryState begun = retryPolicy.begin(call);
    Result refusal = retryPolicy.refusal(begun);
    if (refusal != null) {
      return refusal;
    }
    // Whoever sends it would have to take it back.
    DecisionRequest request = call.decision().unpreemptible();
    Decided decided = decided(call, request, listener, begun, its -> handover.decide(its, client));
    return switch (decided.decision()) {
      case Decision.NoWorker _ when client.isCancelled() -> decided.retries().clientCancelled();
      case Decision.NoWorker none -> decided.retries().noWorker(none);
      case Decision.Planned planned -> {
        Worker worker = planned.last().worker();
        RetryState state = decided.retries().withTry(worker);
        ExecutionServices once = services.handingOver(handover.transport(planned));
        yield executeOnce(
            attempt(call, listener, planned, state, once, begun.nextRequestId()), client, worker, state);
      }
    };
  }

  /**
   * A decision that was made.
   *
   * @param retries the state with the time that it took, without what the request waited for its turn
   */
  private record Decided(Decision decision, RetryState retries) {}

  private Decided decided(
      Call call,
      DecisionRequest request,
      CallListener listener,
      RetryState begun,
      Function<DecisionRequest, Decision> decider) {
    long before = services.clock().nanos();
    Decision decision = ifCached(call, decider.apply(request));
    long after = services.clock().nanos();
    DecisionTrace.note(call.trace(), request, decision, before, after);
    long waitedMillis = decision instanceof Decision.Planned waited ? waited.waitedMillis() : 0;
    long sinceMillis = Math.max(waitedMillis, request.preemptedMillis());
    if (sinceMillis > 0) {
      listener.waited(sinceMillis);
    }
    return new Decided(decision, begun.withDecision(Math.max(0, after - before - waitedMillis * 1_000_000)));
  }

  /** Takes a decision back when the call wants a worker that has some of its prompt, and the chosen one has none. */
  private static Decision ifCached(Call call, Decision decision) {
    if (!call.ifCached()
        || !(decision instanceof Decision.Planned planned)
        || planned.last().cached().predicted() > 0) {
      return decision;
    }
    planned.close(new Outcome.Cancelled());
    return new Decision.NoWorker(
        Decision.NoWorkerReason.NOT_CACHED,
        "the request is for a worker that has some of its prompt (Prefer: if-available), and "
            + planned.last().worker().id() + ", which it would go to, has none");
  }

  private static Result executeOnce(Attempt attempt, Cancellation client, Worker worker, RetryState state) {
    client.onCancelled(() -> attempt.abort(AbortReason.CLIENT_CANCELLED));
    return switch (attempt.run()) {
      case AttemptResult.Responded(Result result) -> result;
      case AttemptResult.Aborted _ -> state.clientCancelled();
      case AttemptResult.Failed failure -> client.isCancelled()
          ? state.clientCancelled()
          : state.withFailure(worker, failure).exhausted(failure);
    };
  }

  private static PodRequest original(
      Call call, Decision.Chosen chosen, String requestId, ExecutionServices services) {
    return PodRequests.original(call, chosen, requestId, services.engines().apply(chosen.worker().pod()));
  }

  private static Attempt attempt(
      Call call, CallListener listener, Decision.Planned planned, RetryState retries, ExecutionServices services,
      String requestId) {
    Decision.Chosen chosen = planned.last();
    return new Attempt(
        chosen,
        () -> {
          services.warmup().prepare(call, chosen);
          return Task.single(
              call, chosen, original(call, chosen, requestId, services), planned.reason(),
              services.settings().maxBufferedBytes());
        },
        services,
        listener,
        retries);
  }

  /** The first try at a single worker; null when the request was taken back from it. */
  private @Nullable Execution attempt(
      CallContext context, RetryState retries, Decision.Planned planned, String requestId)
      throws InterruptedException {
    Decision.Chosen chosen = planned.last();
    Attempt attempt = attempt(context.call(), context.listener(), planned, retries, services, requestId);
    context.cancellation().onCancelled(() -> attempt.abort(AbortReason.CLIENT_CANCELLED));
    attempt.allowPreemption();
    return switch (attempt.run()) {
      case AttemptResult.Responded(Result result) -> new Execution(result, retries);
      case AttemptResult.Aborted(AbortReason why)
          when why == AbortReason.PREEMPTED && !context.cancellation().isCancelled() -> null;
      case AttemptResult.Aborted _ -> new Execution(retries.clientCancelled(), retries);
      case AttemptResult.Failed failure -> {
        RetryState failed = retries.withFailure(chosen.worker(), failure);
        yield context.cancellation().isCancelled()
            ? new Execution(failed.clientCancelled(), failed)
            : workflows.retry(context, failed, chosen, failure);
      }
    };
  }

  private boolean isDown(String worker) {
    WorkerStatus.Health health = cells.health(worker);
    return health == WorkerStatus.Health.UNHEALTHY || health == WorkerStatus.Health.WEDGED;
  }

  /** Stops the workflows and the timer: deadlines are not kept any more. */
  @Override
  public void close() {
    workflows.close();
    timer.close();
  }
}
