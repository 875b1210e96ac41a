package io.kvasir.routing;

/**
 * Says how a plan is carried out; the execution room does it. A profile names its executor so that the
 * compiler sees all five stages.
 */
public non-sealed interface Executor extends Plugin {
  /** What to do when a step fails before anything has reached the client. */
  FailurePolicy onFailure();

  /**
   * How often, at most, a stream that its worker cut is continued by another, from what the client already has. Asked
   * where a request arrives, of the step whose answer is the client's.
   */
  default int resumes() {
    return 0;
  }
}
