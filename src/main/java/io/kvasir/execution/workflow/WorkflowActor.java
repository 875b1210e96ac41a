package io.kvasir.execution.workflow;

import io.kvasir.cell.Decision;
import io.kvasir.execution.ExecutionMetrics;
import io.kvasir.execution.attempt.AbortReason;
import io.kvasir.execution.attempt.Attempt;
import io.kvasir.execution.attempt.Execution;
import io.kvasir.execution.attempt.RetryState;
import io.kvasir.http.Cancellation;
import io.kvasir.http.CancellationSource;
import io.kvasir.telemetry.RedactedException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.PostStop;
import org.apache.pekko.actor.typed.javadsl.AbstractBehavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.Receive;
import org.apache.pekko.actor.typed.javadsl.TimerScheduler;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The mailbox, the timers and the virtual threads of one workflow: it hands each event to {@link WorkflowTransitions}
 * and carries out the effects. It stops when the client has its result and nothing runs any more; stopped before that,
 * it aborts its requests and releases what is booked.
 */
final class WorkflowActor extends AbstractBehavior<WorkflowActor.Message> {
  private static final Logger LOG = LoggerFactory.getLogger(WorkflowActor.class);

  /** Between two checks of a prefill worker whose blocks a decode worker waits for; a hand-over takes much less. */
  private static final Duration PREFILLER_CHECKS = Duration.ofSeconds(2);

  /** Requests that one run sends at a time: many images must not flood their encode worker. */
  private static final int REQUESTS_AT_A_TIME = 16;

  /** A message to the actor. */
  sealed interface Message {
    /** An event of a timer or of the client. */
    record Occurred(WorkflowEvent event) implements Message {}

    /** It is time to check a prefill worker. */
    record CheckDue(PrefillerWatch watch) implements Message {}

    /** The event that follows an effect carried out on another thread. */
    final class Completed implements Message {
      private final WorkflowEvent event;

      Completed(WorkflowEvent event) {
        this.event = event;
      }
    }
  }

  private final TimerScheduler<Message> timers;
  private final WorkflowRequest request;
  private final WorkflowIo io;
  private final WorkflowRules rules;
  private final Runnable onEnd;
  private final Cancellation.Registration cancellation;
  private final Map<Integer, List<Attempt>> attempts = new ConcurrentHashMap<>();
  /** Messages on their way here: what they hold is released when the actor stops before it receives them. */
  private final Set<Message.Completed> undelivered = ConcurrentHashMap.newKeySet();
  /** Cancelled when the client has its result: nobody waits for a turn any more. */
  private final CancellationSource finished = new CancellationSource();
  private volatile boolean stopped;
  private WorkflowState state;
  /** Effects under way on other threads. */
  private int pending;

  private WorkflowActor(
      ActorContext<Message> context,
      TimerScheduler<Message> timers,
      WorkflowIo.Services services,
      WorkflowRequest request,
      Runnable onEnd) {
    super(context);
    this.timers = timers;
    this.request = request;
    this.io = new WorkflowIo(services, request.context().call(), request.context().listener());
    this.rules = new WorkflowRules(
        request.context().call(), services.retries(), services.preprocessing(),
        services.execution().settings().hedgeAfter());
    this.onEnd = onEnd;
    this.state = WorkflowState.initial(request.retries());
    ActorRef<Message> self = context.getSelf();
    timers.startSingleTimer(
        new Message.Occurred(new WorkflowEvent.DeadlineExceeded()), services.retries().remaining(request.retries()));
    this.cancellation = request.context().cancellation()
        .onCancelled(() -> self.tell(new Message.Occurred(new WorkflowEvent.CancelRequested())));
  }

  /** A workflow's actor; {@code onEnd} runs once, when it stops on whichever path. */
  static Behavior<Message> create(
      WorkflowIo.Services services, WorkflowRequest request, Runnable onEnd) {
    return Behaviors.setup(context -> Behaviors.withTimers(timers -> {
      WorkflowActor workflow = new WorkflowActor(context, timers, services, request, onEnd);
      workflow.on(request.start());
      // A behavior that the actor never had gets no signal.
      return workflow.isOver() ? Behaviors.stopped(workflow::stop) : workflow;
    }));
  }

  @Override
  public Receive<Message> createReceive() {
    return newReceiveBuilder()
        .onMessage(Message.class, this::receive)
        .onSignal(PostStop.class, signal -> {
          stop();
          return this;
        })
        .build();
  }

  private Behavior<Message> receive(Message message) {
    switch (message) {
      case Message.Occurred(WorkflowEvent event) -> on(event);
      case Message.CheckDue(PrefillerWatch watch) ->
          on(new WorkflowEvent.PrefillerChecked(watch, io.isLost(watch.prefiller())));
      case Message.Completed completed -> {
        pending--;
        undelivered.remove(completed);
        if (request.context().cancellation().isCancelled()) {
          // The message about the cancellation is still on its way.
          on(new WorkflowEvent.CancelRequested());
        }
        on(completed.event);
        attempts.keySet().removeIf(run -> state.steps().run(run) == null);
      }
    }
    return isOver() ? Behaviors.stopped() : this;
  }

  private boolean isOver() {
    return state.isDone() && pending == 0;
  }

  private void on(WorkflowEvent event) {
    if (event instanceof WorkflowEvent.InternalFailure(Throwable cause)) {
      logAfterEnd(cause);
    }
    try {
      apply(event);
    } catch (RuntimeException | Error e) {
      logAfterEnd(e);
      cleanUp(new WorkflowEvent.InternalFailure(e));
      // The workflow is finished now: it releases what the event holds, perhaps again, which counts for nothing.
      cleanUp(event);
    }
  }

  private void cleanUp(WorkflowEvent event) {
    try {
      apply(event);
    } catch (RuntimeException | Error e) {
      logAfterEnd(e);
    }
  }

  /** Of a failure after the end the client's result says nothing. */
  private void logAfterEnd(Throwable cause) {
    if (state.finished()) {
      request.context().call().logIds().in(LOG.atWarn()).setCause(RedactedException.of(cause))
          .log("a request failed within the router after its end");
    }
  }

  /** The state is the next one from here on, so all that leads there is done, also when a part of it fails. */
  private void apply(WorkflowEvent event) {
    Transition transition = WorkflowTransitions.next(rules, state, event);
    state = transition.state();
    RuntimeException failed = null;
    for (WorkflowEffect effect : transition.effects()) {
      try {
        carryOut(effect);
      } catch (RuntimeException | Error e) {
        if (failed == null) {
          failed = e instanceof RuntimeException unchecked ? unchecked : new IllegalStateException(e);
        }
      }
    }
    if (failed != null) {
      throw failed;
    }
  }

  private void carryOut(WorkflowEffect effect) {
    switch (effect) {
      case WorkflowEffect.Decide decide -> {
        RetryState retries = state.retries();
        inBackground(() -> io.decide(decide, retries, finished));
      }
      case WorkflowEffect.Preprocess preprocess -> inBackground(() -> io.preprocess(preprocess));
      case WorkflowEffect.FetchBootstrap(var server) -> inBackground(() -> io.fetchBootstrap(server));
      case WorkflowEffect.InvalidateBootstrap(var server) -> io.invalidateBootstrap(server);
      case WorkflowEffect.StartStep step -> start(step);
      case WorkflowEffect.Abort(int run, AbortReason reason) ->
          abort(attempts.getOrDefault(run, List.of()), reason);
      case WorkflowEffect.AbandonResponse(int run, int number) ->
          attempts.getOrDefault(run, List.of()).get(number).abandon();
      case WorkflowEffect.Release(Decision.Chosen step, var outcome) -> step.reservation().close(outcome);
      case WorkflowEffect.PrefillLocally(Decision.Chosen step) -> step.reservation().prefillLocally();
      case WorkflowEffect.CheckPrefiller(PrefillerWatch watch) ->
          timers.startSingleTimer(new Message.CheckDue(watch), PREFILLER_CHECKS);
      case WorkflowEffect.Schedule(var delay, WorkflowEvent event) ->
          timers.startSingleTimer(new Message.Occurred(event), delay);
      case WorkflowEffect.Finish(var result, var retries) -> {
        finished.cancel();
        request.result().complete(new Execution(result, retries));
      }
      case WorkflowEffect.Crash(Throwable cause) -> {
        finished.cancel();
        request.result().completeExceptionally(cause);
      }
      case WorkflowEffect.Count count -> count(count, io.services().execution().metrics());
    }
  }

  private static void count(WorkflowEffect.Count count, ExecutionMetrics metrics) {
    switch (count) {
      case WorkflowEffect.Count.RequestEnded(String dialect, String step, String outcome) ->
          metrics.stepRequestEnded(dialect, step, outcome);
      case WorkflowEffect.Count.SplitSkipped(String why) -> metrics.splitSkipped(why);
      case WorkflowEffect.Count.StepSkipped(String step, String why) -> metrics.stepSkipped(step, why);
      case WorkflowEffect.Count.Hedged(boolean won) -> metrics.hedged(won);
    }
  }

  private void start(WorkflowEffect.StartStep step) {
    int requests = step.work().requests();
    Decision.Chosen shared = SharedReservation.share(step.run().chosen(), requests);
    List<Attempt> started =
        IntStream.range(0, requests).mapToObj(number -> io.attempt(step, shared, number)).toList();
    attempts.put(step.run().id(), started);
    request.context().cancellation().onCancelled(() -> abort(started, AbortReason.CLIENT_CANCELLED));
    Semaphore turns = new Semaphore(REQUESTS_AT_A_TIME, true);
    for (int number = 0; number < requests; number++) {
      int each = number;
      inBackground(() -> {
        turns.acquireUninterruptibly();
        try {
          return io.run(step, started.get(each), each);
        } finally {
          turns.release();
        }
      });
    }
  }

  /** The last first: what waits for its turn must not be sent when one before it ends. */
  private static void abort(List<Attempt> attempts, AbortReason reason) {
    attempts.reversed().forEach(attempt -> attempt.abort(reason));
  }

  /** Carries out an effect on a virtual thread and delivers the event that follows. */
  private void inBackground(Supplier<WorkflowEvent> work) {
    pending++;
    Consumer<Message> self = getContext().getSelf()::tell;
    Thread.ofVirtual().start(() -> {
      Message.Completed completed = new Message.Completed(complete(work));
      undelivered.add(completed);
      self.accept(completed);
      if (stopped) {
        discard(completed);
      }
    });
  }

  private static WorkflowEvent complete(Supplier<WorkflowEvent> work) {
    try {
      return work.get();
    } catch (Throwable e) {
      // Whatever it is, the client gets an answer and the workers' load is given back.
      return new WorkflowEvent.InternalFailure(e);
    }
  }

  private void stop() {
    cancellation.close();
    stopped = true;
    on(new WorkflowEvent.NodeStopped());
    undelivered.forEach(this::discard);
    onEnd.run();
  }

  private void discard(Message.Completed completed) {
    if (undelivered.remove(completed)) {
      io.discard(completed.event, attempts);
    }
  }
}
