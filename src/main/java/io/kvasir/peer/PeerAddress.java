package io.kvasir.peer;

/**
 * Where a node is asked.
 *
 * @param node its name: its address and incarnation; who else answers there is not asked
 * @param host its host
 * @param port its {@linkplain PeerConnections#port() port for lines}
 */
public record PeerAddress(String node, String host, int port) {}
