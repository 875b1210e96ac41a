package io.kvasir.gateway.admin;

import io.kvasir.http.Cancellation;
import io.kvasir.http.Headers;
import io.kvasir.http.RequestMemory;
import io.kvasir.http.server.Exchange;
import java.net.InetAddress;

/**
 * A GET of the router's own, in the course of another request.
 *
 * @param of the other request
 */
record ReadExchange(Exchange of, String target) implements Exchange {
  @Override
  public String method() {
    return "GET";
  }

  @Override
  public Headers headers() {
    return Headers.EMPTY;
  }

  @Override
  public InetAddress client() {
    return of.client();
  }

  @Override
  public byte[] body() {
    return new byte[0];
  }

  @Override
  public RequestMemory memory() {
    return of.memory();
  }

  @Override
  public Cancellation cancellation() {
    return of.cancellation();
  }
}
