package io.kvasir.execution;

import io.kvasir.cell.Decision;
import io.kvasir.execution.Attempt.Try;
import io.kvasir.execution.dialect.Handed;
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
 * long. What happens when is the {@link Conductor}'s. It ends when there is a result and nothing of its own runs any
 * more; stopped before that, it stops its legs and gives back what is booked.
 */
final class WorkflowActor extends AbstractBehavior<WorkflowActor.Event> {
  /** What happens to a workflow. */
  sealed interface Event {
    /** The client has left. */
    record ClientLeft() implements Event {}

    /** The request's time is up. */
    record Overdue() implements Event {}

    /** A pause is over. */
    record AskNow(Question question) implements Event {}

    /** A second worker may be asked. */
    record HedgeDue(StepRun first) implements Event {}

    /** A step's own time is up. */
    record StepOverdue(StepRun run) implements Event {}

    /** The cells have decided; {@code begun} is what to go on with, null without workers. */
    record Decided(Question question, Decision decision, long nanos, @Nullable Course begun) implements Event {}

    /** What a preparation's worker is to be sent is known. */
    record Readied(Decision.Chosen step, Preparing preparing) implements Event {}

    /** The prefill engine's bootstrap server has answered. */
    record Bootstrapped(Course course) implements Event {}

    /** It has not. */
    record NotBootstrapped(Try.Failed failure) implements Event {}

    /** A leg is over; {@code handed} is what its answer means for the next, null where it means nothing. */
    record LegEnded(StepRun run, int request, Leg leg, Try result, @Nullable Handed handed) implements Event {}

    /** Something that was computed elsewhere went wrong. */
    record Broken(RuntimeException why) implements Event {}

    /** What another thread was asked for is here. */
    record Back(Event event) implements Event {}
  }

  private final TimerScheduler<Event> timers;
  private final Runnable whenOver;
  private final Conductor conductor;
  /** What is under way on other threads, besides legs. */
  private int away;

  private WorkflowActor(
      ActorContext<Event> context,
      TimerScheduler<Event> timers,
      Workflows.Services services,
      Workflows.Order order,
      Runnable whenOver) {
    super(context);
    this.timers = timers;
    this.whenOver = whenOver;
    ActorRef<Event> self = context.getSelf();
    this.conductor = new Conductor(services, order, self::tell, this::away, this::later);
    timers.startSingleTimer(new Event.Overdue(), order.trials().left());
    order.departure().then(() -> self.tell(new Event.ClientLeft()));
  }

  /** A workflow; {@code whenOver} runs when it is, in whatever way. */
  static Behavior<Event> create(Workflows.Services services, Workflows.Order order, Runnable whenOver) {
    return Behaviors.setup(context -> Behaviors.withTimers(timers -> {
      WorkflowActor workflow = new WorkflowActor(context, timers, services, order, whenOver);
      workflow.conductor.start();
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
      if (event instanceof Event.Back(Event inner)) {
        away--;
        conductor.on(inner);
      } else {
        conductor.on(event);
      }
    } catch (RuntimeException e) {
      conductor.broken(e);
    }
    return conductor.done() && away == 0 ? Behaviors.stopped() : this;
  }

  /** Has something done on a virtual thread, and hears of it. */
  private void away(Supplier<Event> work) {
    away++;
    ActorRef<Event> self = getContext().getSelf();
    Thread.ofVirtual().start(() -> {
      Event result;
      try {
        result = work.get();
      } catch (RuntimeException e) {
        result = new Event.Broken(e);
      }
      self.tell(new Event.Back(result));
    });
  }

  private void later(Duration delay, Event event) {
    timers.startSingleTimer(event, delay);
  }

  private Behavior<Event> over() {
    conductor.stopped();
    whenOver.run();
    return this;
  }
}
