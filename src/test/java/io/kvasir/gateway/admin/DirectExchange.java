package io.kvasir.gateway.admin;

import io.kvasir.http.Cancellation;
import io.kvasir.http.Headers;
import io.kvasir.http.RequestMemory;
import io.kvasir.http.server.Exchange;
import java.net.InetAddress;

/** A request that reaches a handler without a socket. */
@SuppressWarnings("ArrayRecordComponent") // never compared
public record DirectExchange(String method, String target, Headers headers, InetAddress client, byte[] body)
    implements Exchange {
  /** A request from this machine, without headers. */
  DirectExchange(String method, String target, byte[] body) {
    this(method, target, Headers.EMPTY, InetAddress.getLoopbackAddress(), body);
  }

  @Override
  public Cancellation cancellation() {
    return Cancellation.NONE;
  }

  @Override
  public RequestMemory memory() {
    return RequestMemory.UNCOUNTED;
  }
}
