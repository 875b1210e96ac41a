package io.kvasir.execution;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.Attempt.Try;
import io.kvasir.execution.Question.Alone;
import io.kvasir.execution.Question.Hedge;
import io.kvasir.execution.Question.OneStep;
import io.kvasir.execution.Question.WholePlan;
import io.kvasir.execution.WorkflowActor.Event;
import io.kvasir.routing.RoutingPlan;
import java.net.URI;
import java.time.Duration;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Supplier;

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
  private final BiConsumer<Duration, Event> later;
  private final Trials trials;
  private final Inquiry inquiry;
  private final StepStarter starter;
  private final Runs runs = new Runs();
  private final Walk walk;
  private boolean finished;

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
    this.later = later;
    this.trials = order.trials();
    this.inquiry = new Inquiry(services.cells(), order.call(), trials, away);
    this.starter = new StepStarter(services.means(), order, self, later);
    this.walk = new Walk(services, order, runs, starter, away, this);
  }

  void start() {
    Course planned = order.course();
    if (planned == null) {
      askAfter(order.pause(), new WholePlan(false, false));
    } else {
      walk.begin(planned);
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
      case Event.Readied(Decision.Chosen step, Preparing preparing) -> walk.readied(step, preparing);
      case Event.Bootstrapped(Course told) -> walk.goOn(told);
      case Event.NotBootstrapped(Try.Failed failure) -> {
        Decision.Chosen prefill = walk.notBootstrapped(failure);
        if (prefill != null) {
          failed(prefill, failure);
        }
      }
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
    walk.giveBack();
  }

  /** The actor was stopped, perhaps before its time. */
  void stopped() {
    order.departure().then(() -> { });
    if (!done()) {
      inquiry.cut();
      starter.cut();
    }
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
    inquiry.ask(question, walk.course());
  }

  private void decided(Event.Decided decided) {
    trials.decided(decided.nanos());
    Course begun = decided.begun();
    switch (decided.decision()) {
      case Decision.Planned planned when finished || begun == null -> planned.close(new Outcome.Cancelled());
      case Decision.Planned planned -> {
        switch (decided.question()) {
          case WholePlan _ -> walk.begin(begun);
          case Alone _ -> {
            planned.last().reservation().readsPrompt();
            walk.begin(begun);
          }
          case OneStep _ -> walk.goOn(begun, planned.last());
          case Hedge(StepRun first) -> startHedge(first, planned, begun);
        }
      }
      case Decision.NoWorker none -> nobody(decided.question(), none);
    }
  }

  private void nobody(Question question, Decision.NoWorker none) {
    switch (question) {
      case WholePlan(boolean orAlone, boolean _) when orAlone -> ask(new Alone("nobody left"));
      case OneStep(String name) when walk.course().dispensable(name) -> walk.without(name, "nobody left");
      case Hedge _ -> {
        // The first is on its way.
      }
      default -> finish(trials.nobody(none));
    }
  }

  /** The request turned out to be one that cannot be divided; what was booked for it is given back. */
  void mustBeWhole(Course begun, String unfit) {
    if (begun.wholeWanted()) {
      finish(trials.nobody(new Decision.NoWorker(
          Decision.Why.NONE_HEALTHY,
          "This request has to be served by one worker (" + unfit + "), and none of the model's serves one alone.")));
    } else {
      ask(new WholePlan(false, true));
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
          walk.stepDone(run, whole, leg.handed());
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
    return run.name().equals(walk.last());
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
    URI server = walk.course().toldBy();
    if (server != null) {
      services.bootstraps().forget(server);
    }
    if (order.departure().gone()) {
      finish(trials.clientLeft());
      return;
    }
    String name = step.step().name();
    boolean isLast = name.equals(walk.last());
    if (isLast && runs.has(name)) {
      // The one that hedges, or is hedged, may still answer.
      return;
    }
    boolean beside = !isLast && !walk.awaits(walk.last());
    runs.stopAll(Stop.NOT_NEEDED);
    Recovery.Kind kind = isLast ? Recovery.Kind.LAST : beside ? Recovery.Kind.BESIDE : Recovery.Kind.BEFORE;
    switch (Recovery.of(step.step(), kind, walk.course().dispensable(name), failure, trials::retry)) {
      case Recovery.Replan(Duration pause, boolean orAlone) -> {
        walk.giveBack();
        askAfter(pause, new WholePlan(orAlone, walk.course().wholeWanted()));
      }
      case Recovery.Redo(Duration pause) -> askAfter(pause, new OneStep(name));
      case Recovery.Without() when beside -> ask(new Alone(failure.why()));
      case Recovery.Without() -> walk.without(name, failure.why());
      case Recovery.GiveUp() -> finish(trials.exhausted(failure));
    }
  }

  // Hedging.

  /** Has a second worker asked if the first takes long. */
  void hedgeLater(StepRun first) {
    Duration after = services.means().settings().hedgeAfter();
    if (after != null && order.call().repeatable() && !walk.course().several()) {
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
    walk.hedge(planned, begun);
  }

  // The end.

  /** Whether there is a result. */
  boolean finished() {
    return finished;
  }

  /** Tells the client, once; nothing new begins any more. */
  void finish(Result result) {
    if (finished) {
      return;
    }
    finished = true;
    walk.giveBack();
    order.result().complete(result);
  }

  private void told(StepRun run, Try result) {
    Course course = walk.course();
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
