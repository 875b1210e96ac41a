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
public final class UpstreamRequest {
  private static final Logger LOG = LoggerFactory.getLogger(UpstreamRequest.class);

  private final Decision.Chosen chosen;
  private final Supplier<Task> task;
  private final ExecutionServices services;
  private final CallListener listener;
  private final long deadline;
  private final RetryCounts counts;

  private @Nullable Attempt attempt;
  private @Nullable AbortReason abortReason;

  /**
   * A leg about to begin.
   *
   * @param chosen the worker, and the load that the leg gives back whatever becomes of it
   * @param task what it is asked; computed on the leg's thread, for bodies are large
   * @param deadline when the whole request must be over, in {@link System#nanoTime}
   */
  public UpstreamRequest(
      Decision.Chosen chosen,
      Supplier<Task> task,
      ExecutionServices means,
      CallListener listener,
      long deadline,
      RetryCounts tally) {
    this.chosen = chosen;
    this.task = task;
    this.services = means;
    this.listener = listener;
    this.deadline = deadline;
    this.counts = tally;
  }

  Decision.Chosen chosen() {
    return chosen;
  }

  /** Sends the request and waits until there is something for the client, or for the client's next leg. */
  public Attempt.AttemptResult run() {
    try {
      Attempt made = new Attempt(task.get(), services, listener, deadline, counts);
      AbortReason early;
      synchronized (this) {
        attempt = made;
        early = abortReason;
      }
      if (early != null) {
        made.abort(early);
      }
      return made.start();
    } catch (RuntimeException e) {
      // A body that cannot be made, or an answer that cannot be read: another worker's may be different.
      LOG.warn("a request to worker {} failed here", chosen.worker().id(), e);
      chosen.reservation().close(new Outcome.Failed(false, "could not be asked"));
      return new Attempt.AttemptResult.Failed("internal", String.valueOf(e.getMessage()), false, false, true, null);
    }
  }

  /** Ends it at once. The first reason counts. Any thread; does not block. */
  public void abort(AbortReason why) {
    Attempt running;
    synchronized (this) {
      if (abortReason == null) {
        abortReason = why;
      }
      running = attempt;
    }
    if (running != null) {
      running.abort(why);
    }
  }

  /** Gives up an answer that nobody is going to relay. */
  public void abandon() {
    Attempt running;
    synchronized (this) {
      running = attempt;
    }
    if (running != null) {
      running.abandon();
    }
  }
}
