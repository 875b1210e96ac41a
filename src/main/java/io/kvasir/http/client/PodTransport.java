package io.kvasir.http.client;

import java.time.Duration;

/** A way for requests to reach pods. Thread-safe. */
public interface PodTransport {
  /**
   * A call with time limits of its own; nothing is sent yet.
   *
   * @param headTimeout from sending the request to the end of the answer's head
   * @param idleTimeout between two pieces of the answer's body
   * @throws IllegalArgumentException when the pod's URL is not http or https, or the request has control characters
   *     in its target or headers
   */
  PodCall call(PodRequest request, Duration headTimeout, Duration idleTimeout);
}
