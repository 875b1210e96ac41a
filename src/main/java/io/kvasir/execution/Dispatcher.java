package io.kvasir.execution;

import io.kvasir.cell.Cells;
import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.routing.Worker;
import io.kvasir.telemetry.Metrics;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Carries requests out: asks the cells for a worker, sends the request there, and while nothing has
 * reached the client asks for another one when that fails. Thread-safe; calls block, so they belong on
 * virtual threads.
 */
public final class Dispatcher implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Dispatcher.class);

  private final Cells cells;
  private final PodClient pods;
  private final ExecutionSettings settings;
  private final ExecutionMetrics metrics;
  private final ScheduledThreadPoolExecutor timer;

  /** A dispatcher with a timer thread of its own. The pod client stays its owner's to close. */
  public Dispatcher(Cells cells, PodClient pods, ExecutionSettings settings, Metrics metrics) {
    this.cells = cells;
    this.pods = pods;
    this.settings = settings;
    this.metrics = new ExecutionMetrics(metrics);
    this.timer = new ScheduledThreadPoolExecutor(
        1, Thread.ofPlatform().daemon().name("kvasir-deadlines").factory());
    timer.setRemoveOnCancelPolicy(true);
  }

  /**
   * Carries a call out, until there is an answer for the client or none can be had.
   *
   * @throws InterruptedException when the thread is interrupted between two tries
   */
  public Result execute(Call call, ClientLink client, CallListener listener) throws InterruptedException {
    return new Run(call, client, listener).execute();
  }

  /** Stops the timer: deadlines are not kept any more. */
  @Override
  public void close() {
    timer.shutdownNow();
  }

  /** One call and its tries. A plan of several steps would be several of these side by side. */
  private final class Run {
    private final Call call;
    private final CallListener listener;
    private final CountDownLatch gone = new CountDownLatch(1);
    private final Set<String> excluded;
    private final long deadline = System.nanoTime() + settings.total().toNanos();
    private volatile @Nullable Attempt current;
    private int tries;
    private long decideNanos;

    private @Nullable Worker lastWorker;
    private Attempt.Try.@Nullable Failed lastFailure;
    private Result.@Nullable Whole lastAnswer;

    Run(Call call, ClientLink client, CallListener listener) {
      this.call = call;
      this.listener = listener;
      this.excluded = new HashSet<>(call.decision().excluded());
      client.onGone(this::leave);
    }

    private void leave() {
      gone.countDown();
      Attempt attempt = current;
      if (attempt != null) {
        attempt.clientLeft();
      }
    }

    Result execute() throws InterruptedException {
      while (gone.getCount() > 0) {
        switch (decide()) {
          case Decision.NoWorker none -> {
            return nobody(none);
          }
          case Decision.Planned planned -> {
            Decision.Chosen chosen = onlyStep(planned);
            switch (attempt(chosen, planned.reason())) {
              case Attempt.Try.Answered answered -> {
                return answered.result();
              }
              case Attempt.Try.Left _ -> {
                return left();
              }
              case Attempt.Try.Failed failed -> {
                note(chosen.worker(), failed);
                if (!failed.repeatable() || tries >= settings.tries() || !pause()) {
                  return gone.getCount() == 0 ? left() : exhausted(failed);
                }
                metrics.retried(failed.why());
              }
            }
          }
        }
      }
      return left();
    }

    private Result left() {
      return new Result.ClientLeft(report(new Outcome.Cancelled()));
    }

    private Decision decide() {
      long before = System.nanoTime();
      try {
        return cells.decide(call.decision().without(excluded));
      } finally {
        decideNanos += System.nanoTime() - before;
      }
    }

    private static Decision.Chosen onlyStep(Decision.Planned planned) {
      if (planned.steps().size() > 1) {
        planned.close(new Outcome.Cancelled());
        throw new IllegalStateException("plans of " + planned.workflow() + " cannot be carried out here");
      }
      return planned.last();
    }

    private Attempt.Try attempt(Decision.Chosen chosen, String reason) {
      tries++;
      lastWorker = chosen.worker();
      Attempt attempt;
      try {
        PodRequest request = new PodRequest(
            chosen.worker().url(), call.method(), call.target(), headers(chosen.worker()), call.body());
        // The attempt keeps the deadlines itself; the client's own only back them up.
        attempt = new Attempt(
            call,
            chosen,
            reason,
            pods.call(request, settings.total(), settings.total()),
            settings,
            metrics,
            listener,
            timer,
            deadline,
            tries,
            decideNanos);
      } catch (RuntimeException e) {
        chosen.reservation().close(new Outcome.Failed(false, "could not be sent"));
        throw e;
      }
      current = attempt;
      if (gone.getCount() == 0) {
        attempt.clientLeft();
      }
      return attempt.begin();
    }

    /** Engines may choke on an id they have seen, so every try has its own. */
    private Headers headers(Worker worker) {
      String id = call.decision().requestId();
      Headers.Builder headers = call.headers().toBuilder().add("X-Request-Id", tries == 1 ? id : id + "-" + tries);
      if (worker.ranks() > 1) {
        headers.set("X-data-parallel-rank", Integer.toString(worker.rank()));
      }
      return headers.build();
    }

    private void note(Worker worker, Attempt.Try.Failed failed) {
      LOG.warn("request {} try {} at worker {} failed ({}): {}",
          call.decision().requestId(), tries, worker.id(), failed.why(), failed.detail());
      exclude(worker, failed.transport());
      lastFailure = failed;
      if (failed.answer() != null) {
        lastAnswer = failed.answer();
      }
    }

    /** A pod that cannot be reached is not tried again rank by rank. */
    private void exclude(Worker worker, boolean wholePod) {
      excluded.add(worker.id());
      if (wholePod && worker.ranks() > 1) {
        for (int rank = 0; rank < worker.ranks(); rank++) {
          excluded.add(worker.pod() + "#" + rank);
        }
      }
    }

    /** Waits before the next try; false when the client leaves or the time is up meanwhile. */
    private boolean pause() throws InterruptedException {
      double longest = (double) settings.firstPause().toNanos() * Math.pow(settings.pauseFactor(), tries - 1);
      double whole = Math.min(longest, (double) settings.longestPause().toNanos());
      long nanos = (long) (whole * ThreadLocalRandom.current().nextDouble(0.5, 1.0));
      return deadline - System.nanoTime() > nanos && !gone.await(nanos, TimeUnit.NANOSECONDS);
    }

    private Result nobody(Decision.NoWorker none) {
      return lastFailure == null ? new Result.NoWorker(none, report(null)) : exhausted(lastFailure);
    }

    private Result exhausted(Attempt.Try.Failed failed) {
      return lastAnswer != null
          ? lastAnswer
          : new Result.Unreachable(
              failed.late(), failed.why(), report(new Outcome.Failed(failed.transport(), failed.detail())));
    }

    private Report report(@Nullable Outcome outcome) {
      return new Report(
          lastWorker, outcome, tries, 0, 0, Outcome.UNKNOWN, Outcome.UNKNOWN, Outcome.UNKNOWN, decideNanos, 0);
    }
  }
}
