package io.kvasir.cell.directory;

import org.apache.pekko.actor.Address;
import org.apache.pekko.cluster.UniqueAddress;

/**
 * Names of router nodes: in the cluster by address and incarnation, so that a restarted node is another one; to people
 * by host and port. A name in the cluster is {@code pekko://system@host:port#incarnation}.
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

  /** The address of a node, which other incarnations have had or may have. */
  public static String address(String node) {
    return node.substring(0, node.lastIndexOf(INCARNATION));
  }

  /** The host of a node. */
  public static String host(String node) {
    return node.substring(node.indexOf('@') + 1, node.lastIndexOf(':'));
  }

  /** The host and port of a node, for people. */
  public static String hostAndPort(String node) {
    return node.replaceAll("^.*@|" + INCARNATION + ".*$", "");
  }

  /** An address as people read it. */
  public static String hostAndPort(Address address) {
    return address.getHost().orElse("") + ":" + address.getPort().orElse(0);
  }
}
