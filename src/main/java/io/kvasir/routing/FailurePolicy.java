package io.kvasir.routing;

/** The policy when a step of a plan fails before anything has reached the client. */
public enum FailurePolicy {
  /** Decide the step again, without the worker that failed. */
  NEXT_CANDIDATE,
  /** As {@link #NEXT_CANDIDATE}; when no candidate is left, skip the step: the decode worker computes the prompt. */
  NEXT_CANDIDATE_THEN_WITHOUT,
  /** Skip the step at once. */
  WITHOUT,
  /** Return the error to the client. */
  FAIL;

  /** Whether the plan can be carried out without the step. */
  public boolean canSkipStep() {
    return this == NEXT_CANDIDATE_THEN_WITHOUT || this == WITHOUT;
  }
}
