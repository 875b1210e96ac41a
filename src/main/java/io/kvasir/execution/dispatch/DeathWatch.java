package io.kvasir.execution.dispatch;

import io.kvasir.cell.Outcome;
import io.kvasir.execution.Call;
import io.kvasir.execution.CallListener;
import io.kvasir.execution.Report;
import io.kvasir.execution.attempt.RetryPolicy;
import io.kvasir.routing.Worker;
import io.kvasir.time.Timer;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;

/**
 * Finds out whether workers died, or hung, under requests that nobody tries again: streams that were cut after their
 * first byte, and requests that had no other worker. A connection may end for many reasons, so a request is suspected
 * only if its worker is out of service a moment later. Bounded; thread-safe.
 */
final class DeathWatch {
  /** Time in which a worker that is alive has answered a probe, and its cell has told so. */
  static final Duration DELAY = Duration.ofSeconds(5);
  private static final int MAX_WATCHED = 1024;

  private final RetryPolicy policy;
  private final Predicate<String> isDown;
  private final Timer timer;
  private final AtomicInteger watched = new AtomicInteger();

  /**
   * Watches nothing yet.
   *
   * @param isDown whether the worker of an id is in the roster and out of service; must not block
   */
  DeathWatch(RetryPolicy policy, Predicate<String> isDown, Timer timer) {
    this.policy = policy;
    this.isDown = isDown;
    this.timer = timer;
  }

  /** The listener of a call that also has its stream watched. */
  CallListener listener(Call call, CallListener next) {
    return new StreamListener(call, next, this);
  }

  /** A call has ended that is not tried again. */
  void ended(Call call, Report report) {
    Worker worker = report.worker();
    if (worker == null || !(report.outcome() instanceof Outcome.Failed failed) || !failed.transport()) {
      return;
    }
    if (watched.incrementAndGet() > MAX_WATCHED) {
      watched.decrementAndGet();
      return;
    }
    Runnable suspicion = policy.suspicion(call);
    timer.schedule(DELAY.toNanos(), () -> {
      watched.decrementAndGet();
      if (isDown.test(worker.id())) {
        suspicion.run();
      }
    });
  }

  private record StreamListener(Call call, CallListener next, DeathWatch watch) implements CallListener {
    @Override
    public void waited(long millis) {
      next.waited(millis);
    }

    @Override
    public void identified(String answerId, Worker worker) {
      next.identified(answerId, worker);
    }

    @Override
    public void firstToken() {
      next.firstToken();
    }

    @Override
    public void ended(Report report) {
      watch.ended(call, report);
      next.ended(report);
    }
  }
}
