package io.kvasir.cell.line;

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

/** The sockets of lines, with TLS or without. */
final class LineSockets {
  private static final Logger LOG = LoggerFactory.getLogger(LineSockets.class);

  /** How long the other end may take to say who it is. */
  private static final int HELLO_MILLIS = 5_000;

  private static final int CONNECT_MILLIS = 2_000;

  /** Seconds of silence after which it is looked whether the other end still lives, and between the first looks. */
  private static final int SILENCE_SECONDS = 15;

  private final String from;
  private final @Nullable LineTls tls;

  /**
   * Sockets of one node.
   *
   * @param from the address that connections come from, empty when the system may choose
   */
  LineSockets(String from, @Nullable LineTls tls) {
    this.from = from;
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

  /** Connects; nothing has been said but what TLS says. */
  Socket connect(LineAddress to) throws IOException {
    Socket socket = tls == null ? new Socket() : tls.context().getSocketFactory().createSocket();
    try {
      if (!from.isEmpty()) {
        socket.bind(new InetSocketAddress(from, 0));
      }
      socket.connect(new InetSocketAddress(to.host(), to.port()), CONNECT_MILLIS);
      greet(socket);
      return socket;
    } catch (IOException | RuntimeException failed) {
      socket.close();
      throw failed;
    }
  }

  /** Prepares a connection for its first words, which have to come soon. */
  void greet(Socket socket) throws IOException {
    socket.setSoTimeout(HELLO_MILLIS);
    socket.setTcpNoDelay(true);
    socket.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
    if (socket.supportedOptions().contains(ExtendedSocketOptions.TCP_KEEPIDLE)) {
      socket.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, SILENCE_SECONDS);
      socket.setOption(ExtendedSocketOptions.TCP_KEEPINTERVAL, SILENCE_SECONDS);
    }
    if (tls != null && socket instanceof SSLSocket secure) {
      secure.startHandshake();
      tls.verify(secure.getSession());
    }
  }

  /** Closes; whatever can be wrong with that, nothing can be done about it. */
  static void close(Closeable socket) {
    try {
      socket.close();
    } catch (IOException unheard) {
      LOG.debug("{} cannot be closed: {}", socket, unheard.getMessage());
    }
  }

  /** From now on nothing needs to be said for any time. */
  static void greeted(Socket socket) throws IOException {
    socket.setSoTimeout(0);
  }
}
