package io.kvasir.gateway;

import io.kvasir.access.Caller;
import io.kvasir.http.server.Exchange;

/**
 * A client's request as it arrived.
 *
 * @param exchange its head and body
 * @param id its {@code X-Request-Id}, the router's own when it had none
 * @param caller who it is from
 */
record InboundRequest(Exchange exchange, String id, Caller caller) {}
