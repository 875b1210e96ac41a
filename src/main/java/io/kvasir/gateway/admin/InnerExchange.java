package io.kvasir.gateway.admin;

import io.kvasir.http.Headers;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.ExchangeView;

/**
 * A request of the router's own, in the course of another.
 *
 * @param exchange the other request
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record InnerExchange(Exchange exchange, String method, String target, Headers headers, byte[] body)
    implements ExchangeView {
  /** A GET. */
  static InnerExchange get(Exchange exchange, String target) {
    return new InnerExchange(exchange, "GET", target, Headers.EMPTY, new byte[0]);
  }
}
