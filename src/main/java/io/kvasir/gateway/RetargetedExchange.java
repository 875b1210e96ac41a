package io.kvasir.gateway;

import io.kvasir.http.ByteSink;
import io.kvasir.http.Cancellation;
import io.kvasir.http.Headers;
import io.kvasir.http.RequestMemory;
import io.kvasir.http.server.Exchange;
import java.io.IOException;
import java.net.InetAddress;

/** An exchange whose target is in its {@linkplain RequestTarget normal form}. */
record RetargetedExchange(Exchange exchange, String target) implements Exchange {
  /** The exchange itself where its target is in the normal form already. */
  static Exchange of(Exchange exchange) throws ApiException {
    String target = exchange.target();
    String normalized = RequestTarget.normalized(target);
    return normalized.length() == target.length() ? exchange : new RetargetedExchange(exchange, normalized);
  }

  @Override
  public String method() {
    return exchange.method();
  }

  @Override
  public Headers headers() {
    return exchange.headers();
  }

  @Override
  public byte[] body() {
    return exchange.body();
  }

  @Override
  public RequestMemory memory() {
    return exchange.memory();
  }

  @Override
  public InetAddress client() {
    return exchange.client();
  }

  @Override
  public Cancellation cancellation() {
    return exchange.cancellation();
  }

  @Override
  public ByteSink sendHead(int status, Headers headers) throws IOException {
    return exchange.sendHead(status, headers);
  }
}
