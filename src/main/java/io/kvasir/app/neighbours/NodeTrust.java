package io.kvasir.app.neighbours;

import io.kvasir.peer.PeerTls;
import java.io.IOException;
import java.net.Socket;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;

/**
 * How a node proves itself to others, and they to it, on each of their ports. Thread-safe.
 *
 * @param cluster on the cluster's port and the line, null without TLS
 * @param management on the management port, null for what the JVM trusts
 * @param gateway on the gateway's, null for what the JVM trusts
 */
public record NodeTrust(@Nullable PeerTls cluster, @Nullable SSLContext management, @Nullable SSLContext gateway) {
  /** Whether this node speaks TLS to a port whatever the port does; gateways say themselves what they speak. */
  boolean expectsTls(NodePort port, boolean offered) {
    return switch (port) {
      case CLUSTER, LINE -> cluster != null;
      case MANAGEMENT -> management != null;
      case GATEWAY -> offered;
    };
  }

  /**
   * Does the handshake of a connection that has been made.
   *
   * @throws IOException when one of the two does not trust the other
   */
  Socket handshake(NodePort port, Socket tcp, String host, int number) throws IOException {
    SSLSocket socket = (SSLSocket) context(port).getSocketFactory().createSocket(tcp, host, number, false);
    socket.startHandshake();
    if ((port == NodePort.CLUSTER || port == NodePort.LINE) && cluster != null) {
      cluster.verify(socket.getSession());
    }
    return socket;
  }

  private SSLContext context(NodePort port) throws IOException {
    SSLContext known =
        switch (port) {
          case CLUSTER, LINE -> cluster == null ? null : cluster.context();
          case MANAGEMENT -> management;
          case GATEWAY -> gateway;
        };
    try {
      return known == null ? SSLContext.getDefault() : known;
    } catch (java.security.NoSuchAlgorithmException none) {
      throw new IOException("the JVM has no TLS", none);
    }
  }
}
