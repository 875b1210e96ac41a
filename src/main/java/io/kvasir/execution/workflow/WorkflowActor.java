package io.kvasir.execution.workflow;

import io.kvasir.cell.Decision;
import io.kvasir.execution.Attempt.AttemptResult;
import io.kvasir.execution.UpstreamRequest;
import io.kvasir.execution.dialect.PrefillResult;
import io.kvasir.http.Cancellation;
import java.time.Duration;
import java.util.function.Supplier;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.PostStop;
import org.apache.pekko.actor.typed.javadsl.AbstractBehavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.Receive;
import org.apache.pekko.actor.typed.javadsl.TimerScheduler;
import org.jspecify.annotations.Nullable;

/**
 * The life of one workflow: its mailbox, its timers, and the virtual threads that do for it what blocks or takes
 * long. What happens when is the {@link WorkflowExecution}'s. It ends when there is a result and nothing of its own
 * runs any more; stopped before that, it stops its legs and gives back what is booked.
 */
final class WorkflowActor extends AbstractBehavior<WorkflowActor.Event> {
  /** What happens to a workflow. */
  sealed interface Event {
    /** The client has left. */
    record CancelRequested() implements Event {}

    /** The request's time is up. */
    record DeadlineExceeded() implements Event {}

    /** A pause is over. */
    record PauseElapsed(DecisionQuery question) implements Event {}

    /** A second worker may be asked. */
    record HedgeDue(StepRun first) implements Event {}

    /** A step's own time is up. */
    record StepTimedOut(StepRun run) implements Event {}

    /** The cells have decided; {@code begun} is what to go on with, null without workers. */
    record DecisionReceived(DecisionQuery question, Decision decision, long nanos, @Nullable WorkflowState state)
        implements Event {}

    /** What a preparation's worker is to be sent is known. */
    record PreprocessingReady(Decision.Chosen step, PendingPreprocessing pending) implements Event {}

    /** The prefill engine's bootstrap server has answered. */
    record BootstrapReceived(WorkflowState state) implements Event {}

    /** It has not. */
    record BootstrapFailed(AttemptResult.Failed failure) implements Event {}

    /** A leg is over; {@code handed} is what its answer means for the next, null where it means nothing. */
    record RequestEnded(StepRun run, int request, UpstreamRequest upstream, AttemptResult result,
        @Nullable PrefillResult prefillResult) implements Event {}

    /** Something that was computed elsewhere went wrong. */
    record BackgroundTaskFailed(RuntimeException cause) implements Event {}

    /** What another thread was asked for is here. */
    record BackgroundTaskDone(Event event) implements Event {}
  }

  private final TimerScheduler<Event> timers;
  private final Runnable onEnd;
  private final WorkflowExecution execution;
  private final Cancellation.Registration cancelled;
  /** What is under way on other threads, besides legs. */
  private int background;

  private WorkflowActor(
      ActorContext<Event> context,
      TimerScheduler<Event> timers,
      WorkflowSupervisor.Services services,
      WorkflowSupervisor.WorkflowRequest order,
      Runnable whenOver) {
    super(context);
    this.timers = timers;
    this.onEnd = whenOver;
    ActorRef<Event> self = context.getSelf();
    this.execution = new WorkflowExecution(services, order, self::tell, this::away, this::later);
    timers.startSingleTimer(new Event.DeadlineExceeded(), order.retries().remaining());
    this.cancelled = order.cancellation().onCancelled(() -> self.tell(new Event.CancelRequested()));
  }

  /** A workflow; {@code whenOver} runs when it is, in whatever way. */
  static Behavior<Event> create(WorkflowSupervisor.Services services, WorkflowSupervisor.WorkflowRequest order,
      Runnable whenOver) {
    return Behaviors.setup(context -> Behaviors.withTimers(timers -> {
      WorkflowActor workflow = new WorkflowActor(context, timers, services, order, whenOver);
      workflow.execution.start();
      return workflow;
    }));
  }

  @Override
  public Receive<Event> createReceive() {
    return newReceiveBuilder()
        .onMessage(Event.class, this::on)
        .onSignal(PostStop.class, signal -> over())
        .build();
  }

  private Behavior<Event> on(Event event) {
    try {
      if (event instanceof Event.BackgroundTaskDone(Event inner)) {
        background--;
        execution.on(inner);
      } else {
        execution.on(event);
      }
    } catch (RuntimeException e) {
      execution.crashed(e);
    }
    return execution.isDone() && background == 0 ? Behaviors.stopped() : this;
  }

  /** Has something done on a virtual thread, and hears of it. */
  private void away(Supplier<Event> work) {
    background++;
    ActorRef<Event> self = getContext().getSelf();
    Thread.ofVirtual().start(() -> {
      Event result;
      try {
        result = work.get();
      } catch (RuntimeException e) {
        result = new Event.BackgroundTaskFailed(e);
      }
      self.tell(new Event.BackgroundTaskDone(result));
    });
  }

  private void later(Duration delay, Event event) {
    timers.startSingleTimer(event, delay);
  }

  private Behavior<Event> over() {
    cancelled.close();
    execution.stopped();
    onEnd.run();
    return this;
  }
}
