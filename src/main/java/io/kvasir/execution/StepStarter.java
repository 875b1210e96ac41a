package io.kvasir.execution;

import io.kvasir.cell.Decision;
import io.kvasir.execution.Attempt.Try;
import io.kvasir.execution.WorkflowActor.Event;
import io.kvasir.execution.dialect.Handed;
import io.kvasir.routing.RoutingPlan;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Begins a workflow's steps, each of their requests on a thread of its own; the workflow hears of each as {@link
 * Event.LegEnded}. An answer that comes to a workflow that was {@link #cut} is let go. Called by the workflow's actor.
 */
final class StepStarter {
  private final Means means;
  private final Workflows.Order order;
  private final Consumer<Event> self;
  private final BiConsumer<Duration, Event> later;
  private volatile boolean cut;

  /**
   * The steps of one request.
   *
   * @param self hears of legs that end, from their threads
   * @param later tells of an event after a while
   */
  StepStarter(Means means, Workflows.Order order, Consumer<Event> self, BiConsumer<Duration, Event> later) {
    this.means = means;
    this.order = order;
    this.self = self;
    this.later = later;
  }

  /** Begins a step of a course: as many requests to its worker as there are tasks. */
  StepRun start(Course course, Decision.Chosen step, List<Function<Decision.Chosen, Task>> tasks) {
    Trials trials = order.trials();
    List<Function<Decision.Chosen, Leg>> legs = new ArrayList<>();
    for (Function<Decision.Chosen, Task> task : tasks) {
      legs.add(chosen -> new Leg(
          chosen, () -> warm(course, chosen, task), means, order.listener(), trials.deadline(), trials.tally()));
    }
    StepRun run = new StepRun(step, legs);
    Duration deadline = step.step().deadline();
    if (deadline != null) {
      later.accept(deadline, new Event.StepOverdue(run));
    }
    for (int request = 0; request < run.legs().size(); request++) {
      start(course, run, request);
    }
    return run;
  }

  private Task warm(Course course, Decision.Chosen chosen, Function<Decision.Chosen, Task> task) {
    if (!course.several() || chosen.step().name().equals(RoutingPlan.PREFILL)) {
      means.warmup().before(order.call(), chosen);
    }
    return task.apply(chosen);
  }

  private void start(Course course, StepRun run, int request) {
    Leg leg = run.legs().get(request);
    order.departure().add(leg);
    Thread.ofVirtual().start(() -> {
      Try result = leg.run();
      if (cut && result instanceof Try.Answered(Result.Streaming _)) {
        leg.abandon();
      }
      self.accept(new Event.LegEnded(run, request, leg, result, handed(course, run.chosen(), result)));
    });
  }

  private static @Nullable Handed handed(Course course, Decision.Chosen step, Try result) {
    try {
      return course.handed(step, result);
    } catch (IllegalArgumentException e) {
      return new Handed.Nothing("unreadable");
    }
  }

  /** Nobody hears any more of what legs bring. */
  void cut() {
    cut = true;
  }
}
