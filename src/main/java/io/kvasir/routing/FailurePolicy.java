package io.kvasir.routing;

/** What to do when a step of a plan fails before anything has reached the client. */
public enum FailurePolicy {
  /** Decide again without the worker that failed. */
  NEXT_CANDIDATE,
  /** Give the client the error. */
  FAIL
}
