package io.kvasir.gateway.forwarding;

import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;

/**
 * The networks of proxies whose word is taken for where a request came from: what others say in {@code Forwarded} and
 * {@code X-Forwarded-*} is not passed on. Immutable.
 */
public final class TrustedProxies {
  /** Nobody is trusted. */
  public static final TrustedProxies NONE = new TrustedProxies(List.of());

  private final List<Network> networks;

  private record Network(byte[] address, int bits) {
    boolean contains(byte[] other) {
      if (other.length != address.length) {
        return false;
      }
      for (int i = 0; i < bits; i++) {
        if (((address[i >>> 3] ^ other[i >>> 3]) >>> (7 - (i & 7)) & 1) != 0) {
          return false;
        }
      }
      return true;
    }
  }

  /**
   * Proxies in these networks.
   *
   * @param networks addresses, or networks such as {@code 10.0.0.0/8} and {@code fd00::/8}
   * @throws IllegalArgumentException when one is neither
   */
  public TrustedProxies(List<String> networks) {
    List<Network> read = new ArrayList<>();
    networks.forEach(network -> read.add(network(network)));
    this.networks = List.copyOf(read);
  }

  boolean contain(InetAddress client) {
    if (networks.isEmpty()) {
      return false;
    }
    byte[] address = client.getAddress();
    return networks.stream().anyMatch(network -> network.contains(address));
  }

  private static Network network(String text) {
    int slash = text.indexOf('/');
    try {
      byte[] address = InetAddress.ofLiteral(slash < 0 ? text : text.substring(0, slash)).getAddress();
      int bits = slash < 0 ? address.length * 8 : Integer.parseInt(text.substring(slash + 1));
      if (bits < 0 || bits > address.length * 8) {
        throw new IllegalArgumentException("a mask of " + bits + " bits");
      }
      return new Network(address, bits);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("'" + text + "' is neither an address nor a network such as 10.0.0.0/8", e);
    }
  }
}
