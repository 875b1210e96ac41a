package io.kvasir.cell.directory;

import org.apache.pekko.actor.Address;
import org.apache.pekko.cluster.UniqueAddress;

/**
 * Names of router nodes: among themselves by address and incarnation, so that one that comes back is another; to people
 * by host and port. Such a name is {@code pekko://system@host:port#incarnation}.
 */
public final class NodeNames {
  private static final String INCARNATION = "#";

  private NodeNames() {}

  /** The name of a node. */
  public static String of(UniqueAddress node) {
    return node.address() + INCARNATION + node.longUid();
  }

  /** Whether a node of that name is at the address. */
  public static boolean isAt(Address address, String node) {
    return node.startsWith(address + INCARNATION);
  }

  /** The host of a node. */
  public static String host(String node) {
    return node.substring(node.indexOf('@') + 1, node.lastIndexOf(':'));
  }

  /** How people call the node of a name. */
  public static String hostAndPort(String node) {
    return node.replaceAll("^.*@|" + INCARNATION + ".*$", "");
  }

  /** How people call the node at an address. */
  public static String hostAndPort(Address address) {
    return address.getHost().orElse("") + ":" + address.getPort().orElse(0);
  }
}
