package io.kvasir.routing.plugins;

import io.kvasir.routing.Executor;
import io.kvasir.routing.FailurePolicy;
import io.kvasir.routing.Parameters;

/** Sends the request to the chosen worker as it came; {@code on-failure} (next-candidate) says what then. */
final class ForwardExecutor implements Executor {
  private final FailurePolicy onFailure;

  ForwardExecutor(Parameters parameters) {
    this.onFailure = parameters.choice("on-failure", FailurePolicy.NEXT_CANDIDATE);
    if (onFailure.goesOnWithout()) {
      throw new IllegalArgumentException("without its worker a request cannot be answered");
    }
  }

  @Override
  public FailurePolicy onFailure() {
    return onFailure;
  }
}
