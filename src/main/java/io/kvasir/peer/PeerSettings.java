package io.kvasir.peer;

/**
 * The addresses and ports of a node's peer connections.
 *
 * @param host the local address to listen at
 * @param port the port to listen at, 0 for a free one
 * @param advertisedPort the port at which peers reach it: another one where something forwards to it; 0 for the port
 *     listened at
 * @param localAddress the address this node connects from, empty when the system may choose
 */
public record PeerSettings(String host, int port, int advertisedPort, String localAddress) {
  /** A free port of an address, with nothing in front of it. */
  public static PeerSettings on(String host) {
    return new PeerSettings(host, 0, 0, "");
  }
}
