package io.kvasir.gateway.request;

import io.kvasir.execution.dispatch.Handover;
import io.kvasir.http.server.Exchange;

/**
 * A request of a proxy that sends it to its worker itself: the gateway reads it, decides and records what becomes of
 * it, but does not keep the bytes moving.
 *
 * @param exchange the request
 * @param needsKey whether it needs a key where the node asks for keys; without, the proxy knows who its clients are
 * @param handover how the request reaches its worker
 */
public record ProxiedRequest(Exchange exchange, boolean needsKey, Handover handover) {
  /**
   * The header with the request's priority, a number, for its service class and for plugins of routing profiles; it
   * goes no further. It is read of proxied requests only, as any client could set it in others.
   */
  public static final String PRIORITY = "x-kvasir-priority";
}
