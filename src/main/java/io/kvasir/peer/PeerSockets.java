package io.kvasir.peer;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.StandardSocketOptions;
import javax.net.ssl.SSLSocket;
import jdk.net.ExtendedSocketOptions;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the sockets of peer connections, with TLS or without. A connection is closed by its TCP socket, also where
 * there is TLS above it: closing that one would wait for a writer, which may be waiting for a peer that does not read.
 */
final class PeerSockets {
  private static final Logger LOG = LoggerFactory.getLogger(PeerSockets.class);

  /** How long a peer that was connected to may take for each message of the handshake. */
  private static final int HANDSHAKE_MILLIS = 5_000;

  private static final int CONNECT_MILLIS = 2_000;

  /** Seconds of silence after which TCP probes the other end, and between probes. */
  private static final int KEEPALIVE_SECONDS = 15;

  private final String localAddress;
  private final @Nullable PeerTls tls;

  /**
   * Sockets of one node.
   *
   * @param localAddress the address to connect from, empty when the system may choose
   */
  PeerSockets(String localAddress, @Nullable PeerTls tls) {
    this.localAddress = localAddress;
    this.tls = tls;
  }

  /** A listener for TCP connections, whose TLS handshake is that of {@link #accepted}. */
  ServerSocket listen(String host, int port) throws IOException {
    return new ServerSocket(port, 50, InetAddress.getByName(host));
  }

  /**
   * Connects to a peer, with the TLS handshake done where there is TLS. Limits the time of each read until {@link
   * #endHandshake}.
   *
   * @param tcp a new socket, which is what to close, whatever becomes of it
   * @return the socket to read and write; the same where there is no TLS
   */
  Socket connect(Socket tcp, PeerAddress to) throws IOException {
    if (!localAddress.isEmpty()) {
      tcp.bind(new InetSocketAddress(localAddress, 0));
    }
    tcp.connect(new InetSocketAddress(to.host(), to.port()), CONNECT_MILLIS);
    tcp.setSoTimeout(HANDSHAKE_MILLIS);
    configure(tcp);
    if (tls == null) {
      return tcp;
    }
    return handshake(tls, (SSLSocket) tls.context().getSocketFactory().createSocket(tcp, to.host(), to.port(), true));
  }

  /**
   * Does the handshake of a connection that a peer has made, if there is TLS. How long that may take is the caller's
   * concern.
   *
   * @param tcp what to close, whatever becomes of it
   * @return the socket to read and write; the same where there is no TLS
   */
  Socket accepted(Socket tcp) throws IOException {
    configure(tcp);
    if (tls == null) {
      return tcp;
    }
    SSLSocket socket = (SSLSocket) tls.context().getSocketFactory().createSocket(tcp, null, true);
    socket.setUseClientMode(false);
    socket.setNeedClientAuth(true);
    return handshake(tls, socket);
  }

  private static Socket handshake(PeerTls tls, SSLSocket socket) throws IOException {
    socket.startHandshake();
    tls.verify(socket.getSession());
    return socket;
  }

  private static void configure(Socket tcp) throws IOException {
    tcp.setTcpNoDelay(true);
    tcp.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
    if (tcp.supportedOptions().contains(ExtendedSocketOptions.TCP_KEEPIDLE)) {
      tcp.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, KEEPALIVE_SECONDS);
      tcp.setOption(ExtendedSocketOptions.TCP_KEEPINTERVAL, KEEPALIVE_SECONDS);
    }
  }

  /** Closes; a failure is of no consequence. */
  static void close(Closeable socket) {
    try {
      socket.close();
    } catch (IOException failed) {
      LOG.debug("{} cannot be closed: {}", socket, failed.getMessage());
    }
  }

  /** Lets reads wait without limit, since requests may be far apart. */
  static void endHandshake(Socket tcp) throws IOException {
    tcp.setSoTimeout(0);
  }
}
