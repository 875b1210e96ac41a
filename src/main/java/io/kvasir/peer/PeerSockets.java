package io.kvasir.peer;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.StandardSocketOptions;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import jdk.net.ExtendedSocketOptions;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes the sockets of peer connections, with TLS or without. */
final class PeerSockets {
  private static final Logger LOG = LoggerFactory.getLogger(PeerSockets.class);

  /** How long the other end may take for each message of the handshake. */
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

  ServerSocket listen(String host, int port) throws IOException {
    InetAddress address = InetAddress.getByName(host);
    if (tls == null) {
      return new ServerSocket(port, 50, address);
    }
    SSLServerSocket socket =
        (SSLServerSocket) tls.context().getServerSocketFactory().createServerSocket(port, 50, address);
    socket.setNeedClientAuth(true);
    return socket;
  }

  /** Connects, with the TLS handshake done where there is TLS. */
  Socket connect(PeerAddress to) throws IOException {
    Socket socket = tls == null ? new Socket() : tls.context().getSocketFactory().createSocket();
    try {
      if (!localAddress.isEmpty()) {
        socket.bind(new InetSocketAddress(localAddress, 0));
      }
      socket.connect(new InetSocketAddress(to.host(), to.port()), CONNECT_MILLIS);
      beginHandshake(socket);
      return socket;
    } catch (IOException | RuntimeException failed) {
      socket.close();
      throw failed;
    }
  }

  /** Limits the time of the handshake and does that of TLS; {@link #endHandshake} lifts the limit. */
  void beginHandshake(Socket socket) throws IOException {
    socket.setSoTimeout(HANDSHAKE_MILLIS);
    socket.setTcpNoDelay(true);
    socket.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
    if (socket.supportedOptions().contains(ExtendedSocketOptions.TCP_KEEPIDLE)) {
      socket.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, KEEPALIVE_SECONDS);
      socket.setOption(ExtendedSocketOptions.TCP_KEEPINTERVAL, KEEPALIVE_SECONDS);
    }
    if (tls != null && socket instanceof SSLSocket secure) {
      secure.startHandshake();
      tls.verify(secure.getSession());
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
  static void endHandshake(Socket socket) throws IOException {
    socket.setSoTimeout(0);
  }
}
