package io.kvasir.routing;

/** What to do when a step of a plan fails before anything has reached the client. */
public enum FailurePolicy {
  /** Have the step decided again, without the worker that failed. */
  NEXT_CANDIDATE,
  /** The same, and when nobody is left go on without the step: the decode worker reads the prompt itself. */
  NEXT_CANDIDATE_THEN_WITHOUT,
  /** Go on without the step at once. */
  WITHOUT,
  /** Give the client the error. */
  FAIL;

  /** Whether the plan can be carried out without the step. */
  public boolean canSkipStep() {
    return this == NEXT_CANDIDATE_THEN_WITHOUT || this == WITHOUT;
  }
}
