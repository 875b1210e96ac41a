package io.kvasir.routing;

/** What a fleet lacked when no worker could be chosen. */
public enum UnmetNeed {
  /** A worker that is alive, healthy and not draining. */
  LIVE("is alive and healthy"),
  /** A worker that may do what the step asks for. */
  ROLE("has the role asked for"),
  /** A worker that serves the model. */
  MODEL("serves the model"),
  /** A worker with the labels, or of the list, that profile or client ask for. */
  ASKED_FOR("is among those that profile and client ask for"),
  /** A worker that can work with the one another step of the plan has, or alone where there is none. */
  PAIR("can take the prompt's KV blocks from a prefill worker or read it itself"),
  /** A worker that has not failed this request already. */
  UNTRIED("has not failed this request already"),
  /** A worker below its limit of requests in flight. */
  ROOM("has room for another request");

  private final String description;

  UnmetNeed(String words) {
    this.description = words;
  }

  /** What no worker does, to follow "no worker …". */
  String description() {
    return description;
  }
}
