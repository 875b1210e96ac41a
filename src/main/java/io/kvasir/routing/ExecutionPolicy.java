package io.kvasir.routing;

/**
 * How a plan of one worker is carried out: what a profile names under {@code execute}, of which there is one kind,
 * {@code forward}. The request is sent to the chosen worker as it came. When that fails before the client has received
 * anything, {@code on-failure} (next-candidate) applies; when it fails later, another worker continues the stream up to
 * {@code resumes} (1) times.
 *
 * @param onFailure what to do when the worker fails before anything has reached the client
 * @param resumes how often, at most, another worker continues a stream that its worker cut: 0 to {@value #MAX_RESUMES}
 */
public record ExecutionPolicy(FailurePolicy onFailure, int resumes) implements Plugin {
  private static final int MAX_RESUMES = 10;

  /**
   * Checks the ranges.
   *
   * @throws IllegalArgumentException when the policy would skip the only step, or {@code resumes} is out of range
   */
  public ExecutionPolicy {
    if (onFailure.canSkipStep()) {
      throw new IllegalArgumentException("without its worker a request cannot be answered");
    }
    if (resumes < 0 || resumes > MAX_RESUMES) {
      throw new IllegalArgumentException("resumes must be between 0 and " + MAX_RESUMES + ", is " + resumes);
    }
  }

  /** The policy that the parameters of a profile's {@code execute} describe. */
  public static ExecutionPolicy of(Parameters parameters) {
    return new ExecutionPolicy(
        parameters.choice("on-failure", FailurePolicy.NEXT_CANDIDATE),
        parameters.whole("resumes", 1, 0, MAX_RESUMES));
  }
}
