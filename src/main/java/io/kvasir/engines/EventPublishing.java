package io.kvasir.engines;

import org.jspecify.annotations.Nullable;

/** How an engine publishes the events of its KV cache. */
public sealed interface EventPublishing {
  /**
   * By ZMQ sockets, as vLLM and SGLang do. Rank r is found at each port + r.
   *
   * @param endpoint where the first rank's PUB socket is bound, with the engine's host in place of {@code *}; or, when
   *     it {@code connects}, the address that it dials, where the router has to listen
   * @param replay where the first rank's replay socket is bound; null without one, or when the engine does not tell
   * @param topic the first frame of its messages; may be empty
   * @param bufferSteps batches kept for replay, null when the engine does not tell
   * @param connects whether the engine dials the router
   */
  record Zmq(
      String endpoint, @Nullable String replay, String topic, @Nullable Integer bufferSteps, boolean connects)
      implements EventPublishing {}

  /** By ZMQ sockets at ports that the system chose and that the engine does not tell. */
  record UntoldPorts() implements EventPublishing {}

  /** It is a router before engines, whose events reach it and nobody else. */
  record Withheld() implements EventPublishing {}

  /** It publishes none. */
  record Off() implements EventPublishing {}

  /** It does not tell whether it publishes any. */
  record Untold() implements EventPublishing {}
}
