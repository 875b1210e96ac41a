package io.kvasir.cell;

import io.kvasir.routing.Worker;

/** What became of a {@link DecisionRequest}. */
public sealed interface Decision {
  /**
   * A worker was chosen and its load booked.
   *
   * @param worker where to send the request
   * @param reservation the booked load; whoever holds the decision closes it
   * @param depth leading blocks of the chain the worker holds
   * @param predictedCachedTokens what the engine should report as cached
   * @param confirmedCachedTokens how many of those its engine has told of; it was only sent the others
   * @param reason in short, for {@code X-Router-Reason}: profile, depth and what decided
   * @param suspect whether the worker's index is known to have missed events
   */
  record Chosen(
      Worker worker,
      Reservation reservation,
      int depth,
      int predictedCachedTokens,
      int confirmedCachedTokens,
      String reason,
      boolean suspect)
      implements Decision {}

  /**
   * No worker could be chosen and nothing is booked.
   *
   * @param why the kind of want
   * @param detail in plain words, for the error body
   */
  record NoWorker(Why why, String detail) implements Decision {}

  /** Why there is no worker. */
  enum Why {
    /** No pod serves a model of this name: 404. */
    UNKNOWN_MODEL,
    /** The profile asked for does not exist: 400. */
    UNKNOWN_PROFILE,
    /** Pods serve it, but none of them is alive and healthy (or all have failed this request): 503. */
    NONE_HEALTHY,
    /** All are at their limit: 429. */
    ALL_FULL,
    /** The cell's home did not answer in time: 503. */
    NO_HOME
  }
}
