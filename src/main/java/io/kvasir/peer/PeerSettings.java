package io.kvasir.peer;

/**
 * The addresses and ports of a node's peer connections, and what they carry.
 *
 * @param host the local address to listen at
 * @param port the port to listen at, 0 for a free one
 * @param advertisedPort the port at which peers reach it: another one where something forwards to it; 0 for the port
 *     listened at
 * @param localAddress the address this node connects from, empty when the system may choose
 * @param maxLength the longest request or reply, in bytes; the same on all nodes
 */
public record PeerSettings(String host, int port, int advertisedPort, String localAddress, int maxLength) {
  private static final int USUAL_MAX_LENGTH = 16 << 20;

  /** A free port of an address, with nothing in front of it. */
  public static PeerSettings on(String host) {
    return new PeerSettings(host, 0, 0, "", USUAL_MAX_LENGTH);
  }
}
