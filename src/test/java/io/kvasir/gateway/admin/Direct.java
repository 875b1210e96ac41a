package io.kvasir.gateway.admin;

import io.kvasir.execution.Headers;
import io.kvasir.gateway.http.Exchange;
import java.net.InetAddress;

/** A request that reaches a handler without a socket. */
@SuppressWarnings("ArrayRecordComponent") // never compared
record Direct(String method, String target, Headers headers, InetAddress client, byte[] body) implements Exchange {
  /** A request from this machine, without headers. */
  Direct(String method, String target, byte[] body) {
    this(method, target, Headers.EMPTY, InetAddress.getLoopbackAddress(), body);
  }

  @Override
  public boolean clientGone() {
    return false;
  }

  @Override
  public void onClientGone(Runnable action) {}
}
