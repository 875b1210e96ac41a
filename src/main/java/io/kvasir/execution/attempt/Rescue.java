package io.kvasir.execution.attempt;

import io.kvasir.routing.Worker;

/**
 * Decides whether a request of which nothing has come for long leaves its worker, to be carried out by another.
 * Thread-safe; asked on the timer's thread, so it must not block.
 */
@FunctionalInterface
public interface Rescue {
  /** For requests that nobody could carry out elsewhere. */
  Rescue NONE = (_, _, _) -> false;

  /**
   * Whether a request leaves its worker now, so that it is tried elsewhere: what that takes of a budget is taken.
   *
   * @param retries the request's history, the try at the worker included
   * @param begun whether a part of the response may have reached the client, which is then to be continued
   */
  boolean leaves(Worker worker, RetryState retries, boolean begun);
}
