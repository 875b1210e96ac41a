package io.kvasir.execution;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.Attempt.Try;
import io.kvasir.execution.Question.Alone;
import io.kvasir.execution.Question.Hedge;
import io.kvasir.execution.Question.OneStep;
import io.kvasir.execution.Question.WholePlan;
import io.kvasir.execution.WorkflowActor.Event;
import io.kvasir.execution.dialect.Handed;
import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.execution.dialect.Message;
import io.kvasir.routing.RoutingPlan;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Carries one request out that takes several steps or a retry: which leg goes when, what a failure leads to, and
 * that every reservation is given back. It decides and never waits. An answer's bytes never come here; they go from
 * the winning leg's connection to the client on the client's own thread.
 *
 * <p>A failed step's siblings are stopped at once. A retry of a split request does its prefill again: what engines
 * hand over is good for one use. What goes on without prefill has the decode worker read the prompt. When a client
 * leaves between prefill and decode, nobody is told: the prefill engine's lease ends by itself.
 *
 * <p>Confined to its actor.
 */
final class Conductor {
  private final Workflows.Services services;
  private final Workflows.Order order;
  private final Consumer<Event> self;
  private final Consumer<Supplier<Event>> away;
  private final BiConsumer<Duration, Event> later;
  private final Trials trials;
  private final Runs runs = new Runs();
  /** Steps whose load is booked and that have not begun. */
  private final Map<String, Decision.Chosen> waiting = new LinkedHashMap<>();
  private Course course = Course.NONE;
  private boolean finished;
  /** Set when the actor ends before its time: what legs bring after that, nobody hears. */
  private volatile boolean cut;

  /**
   * A workflow about to start.
   *
   * @param self hears of legs that end, from their threads
   * @param away has something done on a thread that may block
   * @param later tells of an event after a while
   */
  Conductor(
      Workflows.Services services,
      Workflows.Order order,
      Consumer<Event> self,
      Consumer<Supplier<Event>> away,
      BiConsumer<Duration, Event> later) {
    this.services = services;
    this.order = order;
    this.self = self;
    this.away = away;
    this.later = later;
    this.trials = order.trials();
  }

  void start() {
    Course planned = order.course();
    if (planned == null) {
      askAfter(order.pause(), new WholePlan(false, false));
    } else {
      begin(planned);
    }
  }

  /** Whether there is a result and nothing runs any more. */
  boolean done() {
    return finished && runs.isEmpty();
  }

  void on(Event event) {
    switch (event) {
      case Event.ClientLeft _ -> {
        runs.stopAll(Stop.CLIENT_LEFT);
        finish(trials.clientLeft());
      }
      case Event.Overdue _ -> {
        if (!finished) {
          runs.stopAll(Stop.TOTAL);
          finish(trials.overdue());
        }
      }
      case Event.AskNow(Question question) -> ask(question);
      case Event.HedgeDue(StepRun first) -> hedge(first);
      case Event.StepOverdue(StepRun run) -> run.stop(Stop.STEP);
      case Event.Decided decided -> decided(decided);
      case Event.Readied(Decision.Chosen step, Preparing preparing) -> readied(step, preparing);
      case Event.Bootstrapped(Course told) -> goOn(told);
      case Event.NotBootstrapped(Try.Failed failure) -> notBootstrapped(failure);
      case Event.LegEnded leg -> {
        boolean counts = runs.counts(leg.run());
        boolean last = runs.ended(leg.run());
        ended(leg, counts && !finished, last);
      }
      case Event.Broken(RuntimeException why) -> broken(why);
      case Event.Back(Event inner) -> on(inner);
    }
  }

  /** Something that must not happen did: the client is told, and nothing is left behind. */
  void broken(RuntimeException why) {
    if (!finished) {
      finished = true;
      order.result().completeExceptionally(why);
    }
    runs.stopAll(Stop.NOT_NEEDED);
    giveBack();
  }

  /** The actor was stopped, perhaps before its time. */
  void stopped() {
    order.departure().then(() -> { });
    cut = !done();
    runs.stopAll(Stop.NOT_NEEDED);
    finish(trials.nobody(new Decision.NoWorker(Decision.Why.NO_HOME, "This router node is stopping. Try again.")));
  }

  // Asking for workers.

  private void askAfter(Duration pause, Question question) {
    if (pause.isZero()) {
      ask(question);
    } else {
      later.accept(pause, new Event.AskNow(question));
    }
  }

  private void ask(Question question) {
    if (finished) {
      return;
    }
    Course before = course;
    DecisionRequest request = question.of(order.call().decision(), trials.excluded(), before);
    String id = trials.upcomingId();
    away.accept(() -> {
      long began = System.nanoTime();
      Decision decision = services.cells().decide(request);
      long nanos = System.nanoTime() - began;
      if (cut && decision instanceof Decision.Planned late) {
        late.close(new Outcome.Cancelled());
      }
      Course begun = decision instanceof Decision.Planned planned
          ? question.begun(order.call(), before, planned, id)
          : null;
      return new Event.Decided(question, decision, nanos, begun);
    });
  }

  private void decided(Event.Decided decided) {
    trials.decided(decided.nanos());
    Course begun = decided.begun();
    switch (decided.decision()) {
      case Decision.Planned planned when finished || begun == null -> planned.close(new Outcome.Cancelled());
      case Decision.Planned planned -> {
        switch (decided.question()) {
          case WholePlan _ -> begin(begun);
          case Alone _ -> {
            planned.last().reservation().readsPrompt();
            begin(begun);
          }
          case OneStep(String name) -> {
            waiting.put(name, planned.last());
            trials.trying(begun.plan().last().worker());
            goOn(begun);
          }
          case Hedge(StepRun first) -> startHedge(first, planned, begun);
        }
      }
      case Decision.NoWorker none -> nobody(decided.question(), none);
    }
  }

  private void nobody(Question question, Decision.NoWorker none) {
    switch (question) {
      case WholePlan(boolean orAlone, boolean _) when orAlone -> ask(new Alone("nobody left"));
      case OneStep(String name) when course.dispensable(name) -> without(name, "nobody left");
      case Hedge _ -> {
        // The first is on its way.
      }
      default -> finish(trials.nobody(none));
    }
  }

  // The way through a plan.

  private void begin(Course begun) {
    begun.plan().steps().forEach(chosen -> waiting.put(chosen.step().name(), chosen));
    trials.trying(begun.plan().last().worker());
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
    if (begun.wholeWanted()) {
      finish(trials.nobody(new Decision.NoWorker(
          Decision.Why.NONE_HEALTHY,
          "This request has to be served by one worker (" + unfit + "), and none of the model's serves one alone.")));
    } else {
      ask(new WholePlan(false, true));
    }
  }

  /** Begins whatever can begin now. */
  private void goOn(Course now) {
    course = now;
    if (finished) {
      return;
    }
    Decision.Chosen preparation = now.nextPreparation();
    Decision.Chosen prefill = now.prefill();
    URI server = now.toldBy();
    if (preparation != null) {
      away.accept(() -> new Event.Readied(preparation, now.ready(preparation, services.preparations())));
    } else if (prefill == null) {
      hedgeLater(begin(now.plan().last(), List.of(chosen -> now.alone(order.call(), chosen, services.means()))));
    } else if (server != null && now.bootstrap() == null) {
      away.accept(() -> bootstrap(now, server));
    } else {
      begin(prefill, List.of(chosen -> now.prefill(order.call(), chosen)));
      if (now.dialect().concurrent()) {
        decode(now, prefill, Handed.Blocks.UNSEEN, Course.reading(prefill, trials.tally()));
      }
    }
  }

  private void decode(Course now, Decision.Chosen prefill, Handed.Blocks blocks, Report read) {
    begin(
        now.plan().last(),
        List.of(chosen -> now.decode(order.call(), prefill, chosen, blocks, read, services.means())));
  }

  private void readied(Decision.Chosen step, Preparing preparing) {
    Course now = preparing.course();
    if (preparing.messages().isEmpty()) {
      goOn(leaveOut(now, step.step().name(), ""));
      return;
    }
    course = now;
    if (!finished) {
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

  private void notBootstrapped(Try.Failed failure) {
    Decision.Chosen prefill = waiting.remove(RoutingPlan.PREFILL);
    if (prefill != null) {
      prefill.reservation().close(new Outcome.Failed(failure.transport(), failure.detail()));
      failed(prefill, failure);
    }
  }

  /** Begins a step: each of its requests on a thread of its own. */
  private StepRun begin(Decision.Chosen step, List<Function<Decision.Chosen, Task>> tasks) {
    waiting.remove(step.step().name());
    Course now = course;
    List<Function<Decision.Chosen, Leg>> legs = new ArrayList<>();
    for (Function<Decision.Chosen, Task> task : tasks) {
      legs.add(chosen -> new Leg(
          chosen, () -> task.apply(chosen), services.means(), order.listener(), trials.deadline(), trials.tally()));
    }
    StepRun run = new StepRun(step, legs);
    runs.add(run);
    Duration deadline = step.step().deadline();
    if (deadline != null) {
      later.accept(deadline, new Event.StepOverdue(run));
    }
    for (int i = 0; i < run.legs().size(); i++) {
      int request = i;
      Leg leg = run.legs().get(i);
      order.departure().add(leg);
      Thread.ofVirtual().start(() -> {
        Try result = leg.run();
        if (cut && result instanceof Try.Answered(Result.Streaming _)) {
          leg.abandon();
        }
        self.accept(new Event.LegEnded(run, request, leg, result, handed(now, step, result)));
      });
    }
    return run;
  }

  private static @Nullable Handed handed(Course now, Decision.Chosen step, Try result) {
    try {
      return now.handed(step, result);
    } catch (IllegalArgumentException e) {
      return new Handed.Nothing("unreadable");
    }
  }

  // What legs came to.

  private void ended(Event.LegEnded leg, boolean counts, boolean last) {
    StepRun run = leg.run();
    told(run, leg.result());
    if (!counts) {
      if (leg.result() instanceof Try.Answered(Result.Streaming _)) {
        leg.leg().abandon();
      }
      return;
    }
    boolean forClient = isLast(run);
    switch (leg.result()) {
      case Try.Stopped _ -> finish(trials.clientLeft());
      case Try.Failed failure -> {
        runs.stop(run, Stop.NOT_NEEDED);
        failed(run.chosen(), failure);
      }
      case Try.Answered(Result answer) when forClient -> won(run, answer);
      case Try.Answered(Result.Whole whole) when whole.status() < 300 -> {
        run.answered(leg.request(), whole.body());
        if (last) {
          stepDone(run, whole, leg.handed());
        }
      }
      case Try.Answered(Result.Whole whole) -> {
        runs.stop(run, Stop.NOT_NEEDED);
        refused(run, whole);
      }
      case Try.Answered _ -> {
        leg.leg().abandon();
        runs.stop(run, Stop.NOT_NEEDED);
        failed(run.chosen(), new Try.Failed("protocol", "an answer without end", false, false, true, null));
      }
    }
  }

  private boolean isLast(StepRun run) {
    return run.name().equals(course.plan().last().step().name());
  }

  /** There is an answer for the client: nobody else is needed for it, but prefill beside it ends by itself. */
  private void won(StepRun run, Result answer) {
    StepRun twin = runs.twinOf(run);
    if (twin != null) {
      services.means().metrics().hedged(run.hedge());
      runs.stop(twin, Stop.NOT_NEEDED);
    }
    finish(answer);
  }

  private void stepDone(StepRun run, Result.Whole whole, @Nullable Handed handed) {
    if (!run.name().equals(RoutingPlan.PREFILL)) {
      goOn(course.prepared(run.name(), services.preparations(), run.answers()));
      return;
    }
    switch (handed) {
      // Beside decode, which knows what to do.
      case null -> { }
      case Handed.Blocks blocks -> decode(course, run.chosen(), blocks, whole.report());
      case Handed.Nothing(String why) -> without(RoutingPlan.PREFILL, why);
      case Handed.Answer answer -> finish(course.answered(run.chosen(), answer, whole.report()));
    }
  }

  /** An error that is the client's own doing, as far as the worker can tell: another would say the same. */
  private void refused(StepRun run, Result.Whole whole) {
    if (run.name().equals(RoutingPlan.PREFILL)) {
      runs.stopAll(Stop.NOT_NEEDED);
      finish(whole);
    } else {
      failed(run.chosen(), new Try.Failed("error", "status " + whole.status(), false, false, false, whole));
    }
  }

  private void failed(Decision.Chosen step, Try.Failed failure) {
    trials.failed(step.worker(), failure);
    URI server = course.toldBy();
    if (server != null) {
      services.bootstraps().forget(server);
    }
    if (order.departure().gone()) {
      finish(trials.clientLeft());
      return;
    }
    String name = step.step().name();
    boolean isLast = name.equals(course.plan().last().step().name());
    if (isLast && runs.has(name)) {
      // The one that hedges, or is hedged, may still answer.
      return;
    }
    boolean beside = !isLast && !waiting.containsKey(course.plan().last().step().name());
    runs.stopAll(Stop.NOT_NEEDED);
    Recovery.Kind kind = isLast ? Recovery.Kind.LAST : beside ? Recovery.Kind.BESIDE : Recovery.Kind.BEFORE;
    switch (Recovery.of(step.step(), kind, course.dispensable(name), failure, trials::retry)) {
      case Recovery.Replan(Duration pause, boolean orAlone) -> {
        giveBack();
        askAfter(pause, new WholePlan(orAlone, course.wholeWanted()));
      }
      case Recovery.Redo(Duration pause) -> askAfter(pause, new OneStep(name));
      case Recovery.Without() when beside -> ask(new Alone(failure.why()));
      case Recovery.Without() -> without(name, failure.why());
      case Recovery.GiveUp() -> finish(trials.exhausted(failure));
    }
  }

  /** Goes on without a step whose load is given back already. */
  private void without(String step, String why) {
    services.means().metrics().stepSkipped(step, why);
    goOn(leaveOut(course, step, "without " + step + ": " + why));
  }

  /** The same without a step; what is booked for it is given back. */
  private Course leaveOut(Course from, String step, String note) {
    Decision.Chosen left = waiting.remove(step);
    if (left != null) {
      left.reservation().close(new Outcome.Cancelled());
    }
    if (step.equals(RoutingPlan.PREFILL)) {
      from.plan().last().reservation().readsPrompt();
    }
    return from.without(step, note);
  }

  // Hedging.

  private void hedgeLater(StepRun first) {
    Duration after = services.means().settings().hedgeAfter();
    if (after != null && order.call().repeatable() && !course.several()) {
      later.accept(after, new Event.HedgeDue(first));
    }
  }

  private void hedge(StepRun first) {
    if (!finished && runs.counts(first) && trials.hedge()) {
      ask(new Hedge(first));
    }
  }

  private void startHedge(StepRun first, Decision.Planned planned, Course begun) {
    if (!runs.counts(first) || planned.steps().size() > 1) {
      planned.close(new Outcome.Cancelled());
      return;
    }
    trials.trying(planned.last().worker());
    begin(planned.last(), List.of(chosen -> begun.alone(order.call(), chosen, services.means()))).hedges();
  }

  // The end.

  private void finish(Result result) {
    if (finished) {
      return;
    }
    finished = true;
    giveBack();
    order.result().complete(result);
  }

  /** Gives back what is booked for steps that have not begun. */
  private void giveBack() {
    waiting.values().forEach(chosen -> chosen.reservation().close(new Outcome.Cancelled()));
    waiting.clear();
  }

  private void told(StepRun run, Try result) {
    if (course.several()) {
      services.means().metrics().leg(course.dialectName(), run.name(), switch (result) {
        case Try.Answered(Result.Whole whole) when whole.status() >= 300 -> "refused";
        case Try.Answered _ -> "answered";
        case Try.Failed failed -> failed.why();
        case Try.Stopped _ -> "stopped";
      });
    }
  }
}
