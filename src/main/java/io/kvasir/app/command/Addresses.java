package io.kvasir.app.command;

import java.net.Inet6Address;
import java.net.InetSocketAddress;

/** Addresses as people type them. */
public final class Addresses {
  private Addresses() {}

  /** {@code host:port}; a listener on all addresses is reached as localhost. */
  public static String of(InetSocketAddress address) {
    if (address.getAddress() == null || address.getAddress().isAnyLocalAddress()) {
      return "localhost:" + address.getPort();
    }
    String host = address.getAddress().getHostAddress();
    return (address.getAddress() instanceof Inet6Address ? "[" + host + "]" : host) + ":" + address.getPort();
  }
}
