package io.kvasir.peer;

import org.jspecify.annotations.Nullable;

/**
 * Handles the requests of peers. Called on the thread that reads them, by several at once. It may wait: after some
 * milliseconds another thread reads on, so that only its own request is late.
 */
@FunctionalInterface
public interface RequestHandler {
  /**
   * Handles one request.
   *
   * @param request not empty
   * @return the reply, not empty; null when this node has none, and the request has to reach its goal another way
   */
  byte @Nullable [] handle(byte[] request);
}
