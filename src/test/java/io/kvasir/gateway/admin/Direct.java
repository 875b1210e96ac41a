package io.kvasir.gateway.admin;

import io.kvasir.execution.Headers;
import io.kvasir.gateway.http.Exchange;
import java.net.InetAddress;

/** A request that reaches a handler without a socket, from this machine and without headers. */
record Direct(String method, String target, byte[] body) implements Exchange {
  @Override
  public Headers headers() {
    return Headers.EMPTY;
  }

  @Override
  public InetAddress client() {
    return InetAddress.getLoopbackAddress();
  }

  @Override
  public boolean clientGone() {
    return false;
  }

  @Override
  public void onClientGone(Runnable action) {}
}
