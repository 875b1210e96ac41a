package io.kvasir.gateway.forwarding;

import io.kvasir.gateway.error.ApiException;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.ExchangeView;

/** An exchange whose target is in its {@linkplain RequestTarget normal form}. */
public record RetargetedExchange(Exchange exchange, String target) implements ExchangeView {
  /** The exchange itself where its target is in the normal form already. */
  public static Exchange of(Exchange exchange) throws ApiException {
    String target = exchange.target();
    String normalized = RequestTarget.normalized(target);
    return normalized.length() == target.length() ? exchange : new RetargetedExchange(exchange, normalized);
  }
}
