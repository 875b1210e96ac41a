package io.kvasir.routing;

/** The need that a fleet did not meet when no worker could be chosen. */
public enum UnmetNeed {
  /** A worker that is alive, healthy and not draining. */
  LIVE("is alive and healthy"),
  /** A worker with the role of the step. */
  ROLE("has the role asked for"),
  /** A worker that serves the model. */
  MODEL("serves the model"),
  /** A worker with the labels, or on the list, that profile or client require. */
  ASKED_FOR("is among those that profile and client ask for"),
  /** A worker that can transfer KV blocks with that of the plan's other step, or do without transfer. */
  PAIR("can take the prompt's KV blocks from a prefill worker or read it itself"),
  /** A worker that has not failed this request already. */
  UNTRIED("has not failed this request already"),
  /** A worker below its limit of requests in flight. */
  ROOM("has room for another request");

  private final String description;

  UnmetNeed(String description) {
    this.description = description;
  }

  /** The need as the predicate of a sentence that begins with "no worker". */
  String description() {
    return description;
  }
}
