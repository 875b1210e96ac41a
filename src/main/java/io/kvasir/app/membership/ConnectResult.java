package io.kvasir.app.membership;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import org.apache.pekko.actor.Address;

/** The outcome of a TCP connection to a port of a node. */
enum ConnectResult {
  /** The connection was accepted and stayed open: the process is alive. */
  ACCEPTED,
  /** The machine refused the connection: it is alive, and the node's process has ended. */
  REFUSED,
  /** Nothing certain: a timeout, no route, or a proxy that cut the connection. */
  INCONCLUSIVE;

  /** Where a node's transport listens. */
  static InetSocketAddress transport(Address node) {
    return InetSocketAddress.createUnresolved(node.getHost().orElse(""), node.getPort().orElse(0));
  }

  /**
   * Connects and checks whether the connection stays open, since a proxy without a node behind it accepts connections
   * and cuts them. Blocks; never throws.
   *
   * @param from the address to connect from, empty when the system may choose
   * @param timeout limit for connecting, and how long the connection has to stay open
   */
  static ConnectResult probe(InetSocketAddress node, String from, Duration timeout) {
    int millis = Math.toIntExact(timeout.toMillis());
    try (Socket socket = new Socket()) {
      if (!from.isEmpty()) {
        socket.bind(new InetSocketAddress(from, 0));
      }
      socket.connect(new InetSocketAddress(node.getHostString(), node.getPort()), millis);
      return staysOpen(socket, millis) ? ACCEPTED : INCONCLUSIVE;
    } catch (ConnectException none) {
      // The same exception stands for timeouts in the network.
      return String.valueOf(none.getMessage()).contains("refused") ? REFUSED : INCONCLUSIVE;
    } catch (IOException none) {
      return INCONCLUSIVE;
    }
  }

  /** Nodes send nothing before the other side does, so a read that times out is a good sign. */
  private static boolean staysOpen(Socket socket, int millis) throws IOException {
    socket.setSoTimeout(millis);
    try {
      return socket.getInputStream().read() >= 0;
    } catch (SocketTimeoutException quiet) {
      return true;
    }
  }
}
