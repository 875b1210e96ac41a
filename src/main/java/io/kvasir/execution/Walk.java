package io.kvasir.execution;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.Attempt.Try;
import io.kvasir.execution.WorkflowActor.Event;
import io.kvasir.execution.dialect.Handed;
import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.execution.dialect.Message;
import io.kvasir.routing.RoutingPlan;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The way of one request through a plan: which step begins when, and what one hands to the next. What becomes of the
 * request it leaves to the {@link Conductor}. Confined to the workflow's actor.
 */
final class Walk {
  private final Workflows.Services services;
  private final Workflows.Order order;
  private final Runs runs;
  private final StepStarter starter;
  private final Consumer<Supplier<Event>> away;
  private final Conductor conductor;
  private final BookedSteps booked = new BookedSteps();
  private Course course = Course.NONE;

  /**
   * A way that has not begun.
   *
   * @param runs takes the steps that begin
   * @param away has something done on a thread that may block
   */
  Walk(
      Workflows.Services services,
      Workflows.Order order,
      Runs runs,
      StepStarter starter,
      Consumer<Supplier<Event>> away,
      Conductor conductor) {
    this.services = services;
    this.order = order;
    this.runs = runs;
    this.starter = starter;
    this.away = away;
    this.conductor = conductor;
  }

  Course course() {
    return course;
  }

  /** The step whose answer is the client's. */
  String last() {
    return course.plan().last().step().name();
  }

  /** Whether a step has its load booked and has not begun. */
  boolean awaits(String step) {
    return booked.has(step);
  }

  /** Sets out on a plan whose load is booked. */
  void begin(Course begun) {
    begun.plan().steps().forEach(booked::add);
    order.trials().trying(begun.plan().last().worker());
    String unfit = begun.unfit();
    if (unfit == null) {
      goOn(begun);
      return;
    }
    services.means().metrics().splitSkipped(unfit);
    if (begun.dispensable(RoutingPlan.PREFILL)) {
      goOn(leaveOut(begun, RoutingPlan.PREFILL, "whole: " + unfit));
      return;
    }
    giveBack();
    conductor.mustBeWhole(begun, unfit);
  }

  /** Goes on with another worker for one step, whose load is booked. */
  void goOn(Course now, Decision.Chosen step) {
    booked.add(step);
    order.trials().trying(now.plan().last().worker());
    goOn(now);
  }

  /** Begins whatever can begin now. */
  void goOn(Course now) {
    course = now;
    if (conductor.finished()) {
      return;
    }
    Decision.Chosen preparation = now.nextPreparation();
    Decision.Chosen prefill = now.prefill();
    URI server = now.toldBy();
    if (preparation != null) {
      away.accept(() -> new Event.Readied(preparation, now.ready(preparation, services.preparations())));
    } else if (prefill == null) {
      conductor.hedgeLater(
          begin(now.plan().last(), List.of(chosen -> now.alone(order.call(), chosen, services.means()))));
    } else if (server != null && now.bootstrap() == null) {
      away.accept(() -> bootstrap(now, server));
    } else {
      begin(prefill, List.of(chosen -> now.prefill(order.call(), chosen)));
      if (now.dialect().concurrent()) {
        decode(now, prefill, Handed.Blocks.UNSEEN, Course.reading(prefill, order.trials().tally()));
      }
    }
  }

  private void decode(Course now, Decision.Chosen prefill, Handed.Blocks blocks, Report read) {
    begin(
        now.plan().last(),
        List.of(chosen -> now.decode(order.call(), prefill, chosen, blocks, read, services.means())));
  }

  /** What a preparation's worker is to be sent is known. */
  void readied(Decision.Chosen step, Preparing preparing) {
    Course now = preparing.course();
    if (preparing.messages().isEmpty()) {
      goOn(leaveOut(now, step.step().name(), ""));
      return;
    }
    course = now;
    if (!conductor.finished()) {
      List<Function<Decision.Chosen, Task>> tasks = new ArrayList<>();
      for (Message message : preparing.messages()) {
        tasks.add(chosen -> now.preparation(order.call(), chosen, message));
      }
      begin(step, tasks);
    }
  }

  private Event bootstrap(Course now, URI server) {
    try {
      JsonMembers known = services.bootstraps().known(server);
      return new Event.Bootstrapped(now.bootstrapped(known == null ? services.bootstraps().read(server) : known));
    } catch (PodException e) {
      return new Event.NotBootstrapped(
          new Try.Failed("bootstrap", String.valueOf(e.getMessage()), false, false, true, null));
    }
  }

  /** The prefill's load is given back, for its engine cannot be asked; null when it has been. */
  Decision.@Nullable Chosen notBootstrapped(Try.Failed failure) {
    Decision.Chosen prefill = booked.take(RoutingPlan.PREFILL);
    if (prefill != null) {
      prefill.reservation().close(new Outcome.Failed(failure.transport(), failure.detail()));
    }
    return prefill;
  }

  private StepRun begin(Decision.Chosen step, List<Function<Decision.Chosen, Task>> tasks) {
    booked.take(step.step().name());
    StepRun run = starter.start(course, step, tasks);
    runs.add(run);
    return run;
  }

  /** A step's last answer has come, and what it handed over, if anything. */
  void stepDone(StepRun run, Result.Whole whole, @Nullable Handed handed) {
    if (!run.name().equals(RoutingPlan.PREFILL)) {
      goOn(course.prepared(run.name(), services.preparations(), run.answers()));
      return;
    }
    switch (handed) {
      // Beside decode, which knows what to do.
      case null -> { }
      case Handed.Blocks blocks -> decode(course, run.chosen(), blocks, whole.report());
      case Handed.Nothing(String why) -> without(RoutingPlan.PREFILL, why);
      case Handed.Answer answer -> conductor.finish(course.answered(run.chosen(), answer, whole.report()));
    }
  }

  /** Goes on without a step. */
  void without(String step, String why) {
    services.means().metrics().stepSkipped(step, why);
    goOn(leaveOut(course, step, "without " + step + ": " + why));
  }

  /** The same without a step; what is booked for it is given back. */
  private Course leaveOut(Course from, String step, String note) {
    booked.cancel(step);
    if (step.equals(RoutingPlan.PREFILL)) {
      from.plan().last().reservation().readsPrompt();
    }
    return from.without(step, note);
  }

  /** Begins what the first does once more, at another worker. */
  void hedge(Decision.Planned planned, Course begun) {
    order.trials().trying(planned.last().worker());
    begin(planned.last(), List.of(chosen -> begun.alone(order.call(), chosen, services.means()))).hedges();
  }

  /** Gives back what is booked for steps that have not begun. */
  void giveBack() {
    booked.cancelAll();
  }
}
