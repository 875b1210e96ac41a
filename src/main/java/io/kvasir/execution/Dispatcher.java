package io.kvasir.execution;

import io.kvasir.cell.Cells;
import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.dialect.ClientRequest;
import io.kvasir.execution.dialect.Preparation;
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
  private final Means means;
  private final RetryBudget budget;
  private final Workflows workflows;
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
      Map<String, Preparation> preparations,
      Warmup warmup,
      Metrics metrics) {
    this.cells = cells;
    this.timer = new ScheduledThreadPoolExecutor(
        1, Thread.ofPlatform().daemon().name("kvasir-deadlines").factory());
    timer.setRemoveOnCancelPolicy(true);
    this.means = new Means(pods, settings, new ExecutionMetrics(metrics), timer, warmup);
    this.budget = new RetryBudget(settings.retries(), System.nanoTime());
    this.workflows = new Workflows(
        system, new Workflows.Services(cells, means, Map.copyOf(preparations), new Bootstraps(pods)));
  }

  /**
   * Carries a call out, until there is an answer for the client or none can be had.
   *
   * @throws InterruptedException when the thread is interrupted while a workflow goes on; it is given up then
   */
  public Result execute(Call call, ClientLink client, CallListener listener) throws InterruptedException {
    Departure departure = new Departure();
    client.onGone(departure::leave);
    budget.request();
    if (call.resumes() == 0 || !call.decision().stream()) {
      return carry(call, departure, listener, new Trials(call, means, budget));
    }
    ClientRequest asked = ClientRequest.of(call.target(), call.body());
    String unfit = asked == null ? "body" : Continuation.unfit(asked);
    if (asked == null || unfit != null) {
      CallListener counting = new UnresumedListener(listener, String.valueOf(unfit), means.metrics());
      return carry(call, departure, counting, new Trials(call, means, budget));
    }
    Call read = call.withUsage();
    Trials trials = new Trials(read, means, budget);
    Resumption resumption = new Resumption(
        call, new Continuation(asked), listener, departure, trials, means.metrics(),
        (next, hears, tries) -> carry(next, departure, hears, tries));
    return resumption.over(carry(read, departure, resumption, trials));
  }

  private Result carry(Call call, Departure departure, CallListener listener, Trials trials)
      throws InterruptedException {
    String id = trials.upcomingId();
    long before = System.nanoTime();
    Decision decision = cells.decide(call.decision());
    trials.decided(System.nanoTime() - before);
    return switch (decision) {
      case Decision.NoWorker none -> trials.nobody(none);
      case Decision.Planned planned when planned.steps().size() > 1 || means.settings().hedgeAfter() != null -> {
        Course course;
        try {
          course = Course.of(call, planned, id, null, false);
        } catch (RuntimeException e) {
          planned.close(new Outcome.Cancelled());
          throw e;
        }
        yield workflow(call, departure, listener, trials, course, Duration.ZERO);
      }
      case Decision.Planned planned -> once(call, departure, listener, trials, planned, id);
    };
  }

  /** Stops the workflows and the timer: deadlines are not kept any more. */
  @Override
  public void close() {
    workflows.close();
    timer.shutdownNow();
  }

  private Result once(
      Call call, Departure departure, CallListener listener, Trials trials, Decision.Planned planned, String id)
      throws InterruptedException {
    Decision.Chosen chosen = planned.last();
    trials.trying(chosen.worker());
    int wholeBytes = means.settings().wholeBytes();
    Leg leg = new Leg(
        chosen,
        () -> {
          means.warmup().before(call, chosen);
          return Task.whole(call, chosen, LegRequests.own(call, chosen.worker(), id), planned.reason(), wholeBytes);
        },
        means,
        listener,
        trials.deadline(),
        trials.tally());
    departure.add(leg);
    return switch (leg.run()) {
      case Attempt.Try.Answered(Result result) -> result;
      case Attempt.Try.Stopped _ -> trials.clientLeft();
      case Attempt.Try.Failed failed -> {
        trials.failed(chosen.worker(), failed);
        yield departure.gone() ? trials.clientLeft() : again(call, departure, listener, trials, planned, failed);
      }
    };
  }

  private Result again(
      Call call,
      Departure departure,
      CallListener listener,
      Trials trials,
      Decision.Planned planned,
      Attempt.Try.Failed failed)
      throws InterruptedException {
    return switch (Recovery.of(planned.last().step(), Recovery.Kind.LAST, false, failed, trials::retry)) {
      case Recovery.Replan(Duration pause, boolean _) ->
          workflow(call, departure, listener, trials, null, pause);
      case Recovery.Redo _, Recovery.Without _, Recovery.GiveUp _ -> trials.exhausted(failed);
    };
  }

  private Result workflow(
      Call call,
      Departure departure,
      CallListener listener,
      Trials trials,
      @Nullable Course course,
      Duration pause)
      throws InterruptedException {
    CompletableFuture<Result> result = new CompletableFuture<>();
    if (!workflows.begin(new Workflows.Order(call, departure, listener, trials, course, pause, result))) {
      if (course != null) {
        course.plan().close(new Outcome.Cancelled());
      }
      return trials.nobody(new Decision.NoWorker(
          Decision.Why.ALL_FULL, "This router carries out as many requests of several steps as it may."));
    }
    try {
      return result.get();
    } catch (InterruptedException e) {
      departure.leave();
      var _ = result.thenAccept(Dispatcher::giveUp);
      throw e;
    } catch (ExecutionException e) {
      throw e.getCause() instanceof RuntimeException why ? why : new IllegalStateException(e.getCause());
    }
  }

  /** Nobody is there any more to relay it. */
  private static void giveUp(Result result) {
    if (result instanceof Result.Streaming(Route _, int _, Headers _, AnswerRelay relay)) {
      relay.abandon();
    }
  }
}
