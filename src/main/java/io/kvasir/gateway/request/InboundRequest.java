package io.kvasir.gateway.request;

import io.kvasir.access.Caller;
import io.kvasir.execution.dispatch.Handover;
import io.kvasir.http.Headers;
import io.kvasir.http.server.Exchange;
import io.kvasir.telemetry.AccessEntry;
import io.kvasir.tracing.TraceContext;
import org.jspecify.annotations.Nullable;

/**
 * A client's request as it arrived.
 *
 * @param exchange its head and body
 * @param id its {@code X-Request-Id}, the router's own when it had none
 * @param caller who it is from
 * @param handover how it reaches its worker where a proxy sends it there, null where the router does
 */
public record InboundRequest(Exchange exchange, String id, Caller caller, @Nullable Handover handover) {
  public InboundRequest(Exchange exchange, String id, Caller caller) {
    this(exchange, id, caller, null);
  }

  /**
   * The request in the access log.
   *
   * @param traceId of its trace, null without one
   */
  public AccessEntry logged(
      @Nullable String traceId, AccessEntry.Served served, int status, AccessEntry.Tokens tokens,
      AccessEntry.Times times) {
    return new AccessEntry(
        new AccessEntry.Ids(id, traceId),
        new AccessEntry.Client(exchange.client().getHostAddress(), caller.keyId(), caller.tenant()),
        served, status, tokens, times);
  }

  /** The id of the trace that the client has begun, null when it has not. */
  public @Nullable String traceId() {
    return traceId(exchange.headers());
  }

  /** The same of a request with these headers. */
  public static @Nullable String traceId(Headers headers) {
    TraceContext parent = TraceContext.parse(headers.only(TraceContext.HEADER));
    return parent == null ? null : parent.traceId();
  }
}
