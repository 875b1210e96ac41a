package io.kvasir.execution;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One request of a plan to one worker. It can be stopped at any moment, also before it has begun; it is run once,
 * on a thread that may block.
 */
final class Leg {
  private static final Logger LOG = LoggerFactory.getLogger(Leg.class);

  private final Decision.Chosen chosen;
  private final Supplier<Task> task;
  private final Means means;
  private final CallListener listener;
  private final long deadline;
  private final Tally tally;

  private @Nullable Attempt attempt;
  private @Nullable Stop stopped;

  /**
   * A leg about to begin.
   *
   * @param chosen the worker, and the load that the leg gives back whatever becomes of it
   * @param task what it is asked; computed on the leg's thread, for bodies are large
   * @param deadline when the whole request must be over, in {@link System#nanoTime}
   */
  Leg(
      Decision.Chosen chosen,
      Supplier<Task> task,
      Means means,
      CallListener listener,
      long deadline,
      Tally tally) {
    this.chosen = chosen;
    this.task = task;
    this.means = means;
    this.listener = listener;
    this.deadline = deadline;
    this.tally = tally;
  }

  Decision.Chosen chosen() {
    return chosen;
  }

  /** Sends the request and waits until there is something for the client, or for the client's next leg. */
  Attempt.Try run() {
    try {
      Attempt made = new Attempt(task.get(), means, listener, deadline, tally);
      Stop early;
      synchronized (this) {
        attempt = made;
        early = stopped;
      }
      if (early != null) {
        made.stop(early);
      }
      return made.begin();
    } catch (RuntimeException e) {
      // A body that cannot be made, or an answer that cannot be read: another worker's may be different.
      LOG.warn("a request to worker {} failed here", chosen.worker().id(), e);
      chosen.reservation().close(new Outcome.Failed(false, "could not be asked"));
      return new Attempt.Try.Failed("internal", String.valueOf(e.getMessage()), false, false, true, null);
    }
  }

  /** Ends it at once. The first reason counts. Any thread; does not block. */
  void stop(Stop why) {
    Attempt running;
    synchronized (this) {
      if (stopped == null) {
        stopped = why;
      }
      running = attempt;
    }
    if (running != null) {
      running.stop(why);
    }
  }

  /** Gives up an answer that nobody is going to relay. */
  void abandon() {
    Attempt running;
    synchronized (this) {
      running = attempt;
    }
    if (running != null) {
      running.abandon();
    }
  }
}
