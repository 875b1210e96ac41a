package io.kvasir.picker;

import io.kvasir.http.ConnectionThread;
import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import io.grpc.netty.shaded.io.netty.util.NetUtil;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Endpoints that a gateway allows for a request: addresses, and hosts of which every port is meant. Immutable.
 *
 * @param allowed {@code ip:port} or {@code ip}, as {@link #canonical} has them
 */
record Endpoints(Set<String> allowed) {
  /** The gateway's subset hint, null where it gives none. */
  static @Nullable Endpoints subset(@Nullable Struct metadata) {
    Value hint = metadata == null ? null : metadata.getFieldsMap().get(RoutingHeaders.SUBSET);
    if (hint == null) {
      return null;
    }
    Set<String> allowed = new HashSet<>();
    if (hint.hasListValue()) {
      hint.getListValue().getValuesList().forEach(value -> addAll(value.getStringValue(), allowed));
    } else {
      addAll(hint.getStringValue(), allowed);
    }
    return new Endpoints(allowed);
  }

  /** Endpoints in a list with commas. */
  static Endpoints listed(String list) {
    Set<String> allowed = new HashSet<>();
    addAll(list, allowed);
    return new Endpoints(allowed);
  }

  private static void addAll(String list, Set<String> to) {
    for (String each : list.split(",", -1)) {
      String endpoint = each.strip();
      if (!endpoint.isEmpty()) {
        to.add(canonical(endpoint));
      }
    }
  }

  /** Whether a worker at this {@link #address} is among them. */
  boolean have(String address) {
    if (allowed.isEmpty()) {
      return false;
    }
    if (allowed.contains(address)) {
      return true;
    }
    return allowed.contains(address.substring(0, address.lastIndexOf(':')));
  }

  /**
   * An address, with a port or without, as {@link #address} writes it: there are many ways to write one of IPv6, and
   * gateways compare texts.
   */
  static String canonical(String endpoint) {
    String text = endpoint.toLowerCase(Locale.ROOT);
    int end = text.lastIndexOf(']');
    boolean bracketed = text.startsWith("[") && end > 0;
    if (!bracketed && text.indexOf(':') == text.lastIndexOf(':')) {
      return text;
    }
    try {
      InetAddress address = InetAddress.ofLiteral(bracketed ? text.substring(1, end) : text);
      return host(address) + (bracketed ? text.substring(end + 1) : "");
    } catch (IllegalArgumentException noAddress) {
      return text;
    }
  }

  /** Whether a host is an address, so that nobody has to be asked for it. */
  private static boolean isLiteral(String host) {
    return host.startsWith("[") || NetUtil.isValidIpV4Address(host);
  }

  /** An address as RFC 5952 has it, of IPv6 in brackets. */
  private static String host(InetAddress address) {
    String text = NetUtil.toAddressString(address);
    return address instanceof Inet6Address ? "[" + text + "]" : text;
  }

  /**
   * The address of a worker as gateways write it, {@code ip:port}. Looks a host's name up, which may wait; a name that
   * is not known stays.
   */
  static String address(URI url) {
    return address(url, 0);
  }

  /** The address of a worker's port that is so many behind its first. */
  static String address(URI url, int offset) {
    int port = (url.getPort() >= 0 ? url.getPort() : "https".equals(url.getScheme()) ? 443 : 80) + offset;
    String host = String.valueOf(url.getHost());
    if (!isLiteral(host)) {
      ConnectionThread.leaveConnection();
    }
    try {
      return host(InetAddress.getByName(host)) + ":" + port;
    } catch (UnknownHostException unknown) {
      return host + ":" + port;
    }
  }
}
