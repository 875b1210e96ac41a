package io.kvasir.peer;

/**
 * Where a node listens for its peers.
 *
 * @param node its name: its address and incarnation; a connection to a node of another name is closed
 * @param host its host
 * @param port its {@linkplain PeerConnections#port() port for peers}
 */
public record PeerAddress(String node, String host, int port) {}
