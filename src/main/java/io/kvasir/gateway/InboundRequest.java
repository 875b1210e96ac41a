package io.kvasir.gateway;

import io.kvasir.access.Caller;
import io.kvasir.http.server.Exchange;
import io.kvasir.telemetry.AccessEntry;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A client's request as it arrived.
 *
 * @param exchange its head and body
 * @param id its {@code X-Request-Id}, the router's own when it had none
 * @param caller who it is from
 */
record InboundRequest(Exchange exchange, String id, Caller caller) {
  /** W3C trace context: version, trace id, parent id, flags. */
  private static final Pattern TRACE_PARENT = Pattern.compile("[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}.*");

  /** The request in the access log. */
  AccessEntry logged(AccessEntry.Served served, int status, AccessEntry.Tokens tokens, AccessEntry.Times times) {
    return new AccessEntry(
        new AccessEntry.Ids(id, traceId()),
        new AccessEntry.Client(exchange.client().getHostAddress(), caller.keyId(), caller.tenant()),
        served, status, tokens, times);
  }

  private @Nullable String traceId() {
    String parent = exchange.headers().first("traceparent");
    if (parent == null) {
      return null;
    }
    Matcher matcher = TRACE_PARENT.matcher(parent);
    return matcher.matches() ? matcher.group(1) : null;
  }
}
