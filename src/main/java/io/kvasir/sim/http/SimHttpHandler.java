package io.kvasir.sim.http;

import java.io.IOException;

/** Answers requests; called on a virtual thread, may block. */
@FunctionalInterface
public interface SimHttpHandler {
  /** Answers {@code exchange}. An exception thrown before anything was sent becomes a 500. */
  void handle(SimHttpExchange exchange) throws IOException;
}
