package io.kvasir.peer;

/**
 * Where a node's lines begin and end.
 *
 * @param host an address of this machine, at which others ask
 * @param port to listen at, 0 for a free one
 * @param advertisedPort where others find that: its own number, or another's in front of it; 0 for the port listened at
 * @param localAddress the address this node's lines to others come from, empty when the system may choose
 */
public record PeerSettings(String host, int port, int advertisedPort, String localAddress) {
  /** On a free port of an address, with nothing in front of it. */
  public static PeerSettings on(String host) {
    return new PeerSettings(host, 0, 0, "");
  }
}
