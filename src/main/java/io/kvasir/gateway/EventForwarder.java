package io.kvasir.gateway;

import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.Response;
import org.jspecify.annotations.Nullable;

/** Forwards pushed cache events to the router node that reads a worker's. Thread-safe. */
@FunctionalInterface
public interface EventForwarder {
  /** The header that marks a forwarded push, so that it is forwarded once. */
  String FORWARDED = "Kvasir-Forwarded";

  /**
   * Forwards a push, with {@link #FORWARDED} set. Blocks.
   *
   * @return the other node's answer; null when no node reads the worker's events, or it cannot be reached
   */
  @Nullable Response forward(String worker, Exchange exchange) throws InterruptedException;
}
