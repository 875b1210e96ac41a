package io.kvasir.routing.plugins;

import io.kvasir.routing.Executor;
import io.kvasir.routing.FailurePolicy;
import io.kvasir.routing.Parameters;

/**
 * Sends the request to the chosen worker as it came. When that fails before the client has seen anything, {@code
 * on-failure} (next-candidate) says what then; when it fails later, the stream is continued elsewhere up to {@code
 * resumes} (0) times.
 */
final class ForwardExecutor implements Executor {
  private static final int MOST_RESUMES = 10;

  private final FailurePolicy onFailure;
  private final int resumes;

  ForwardExecutor(Parameters parameters) {
    this.onFailure = parameters.choice("on-failure", FailurePolicy.NEXT_CANDIDATE);
    this.resumes = parameters.whole("resumes", 0, 0, MOST_RESUMES);
    if (onFailure.canSkipStep()) {
      throw new IllegalArgumentException("without its worker a request cannot be answered");
    }
  }

  @Override
  public FailurePolicy onFailure() {
    return onFailure;
  }

  @Override
  public int resumes() {
    return resumes;
  }
}
