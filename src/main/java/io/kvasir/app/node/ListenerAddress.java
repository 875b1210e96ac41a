package io.kvasir.app.node;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;

/**
 * Where a listener of the node is reached.
 *
 * @param socket the address it is bound to
 * @param tls whether it speaks HTTPS
 */
record ListenerAddress(InetSocketAddress socket, boolean tls) {
  /** The scheme of its URLs. */
  static String scheme(boolean tls) {
    return tls ? "https" : "http";
  }

  /** For clients on this machine. */
  URI local() {
    InetAddress address = socket.getAddress();
    String host =
        address == null || address.isAnyLocalAddress() ? "localhost"
            : address instanceof Inet6Address ? "[" + address.getHostAddress() + "]"
            : address.getHostAddress();
    return at(host);
  }

  /** At a host by which others know this node. */
  URI at(String host) {
    return URI.create(scheme(tls) + "://" + host + ":" + socket.getPort());
  }
}
