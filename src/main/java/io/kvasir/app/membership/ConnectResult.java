package io.kvasir.app.membership;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import org.apache.pekko.actor.Address;

/** What the machine of another node says when somebody connects to where that node listens. */
enum ConnectResult {
  /** Somebody listens there and lets one in. */
  ACCEPTED,
  /** The machine lives and nobody listens there: the node's process is gone. */
  REFUSED,
  /** Nothing certain: no answer, no way, or somebody in between that lets nobody in. */
  INCONCLUSIVE;

  /**
   * Connects and looks whether the connection stays open, as a proxy that has nobody behind it takes connections, too,
   * and cuts them. Waits; never throws.
   *
   * @param from the address to connect from, empty when the system may choose
   * @param patience how long to wait for the connection, and how long it has to stay open
   */
  static ConnectResult probe(Address node, String from, Duration patience) {
    int millis = Math.toIntExact(patience.toMillis());
    try (Socket socket = new Socket()) {
      if (!from.isEmpty()) {
        socket.bind(new InetSocketAddress(from, 0));
      }
      socket.connect(new InetSocketAddress(node.getHost().orElse(""), node.getPort().orElse(0)), millis);
      return staysOpen(socket, millis) ? ACCEPTED : INCONCLUSIVE;
    } catch (ConnectException none) {
      // The same exception tells of a way that timed out in the network.
      return String.valueOf(none.getMessage()).contains("refused") ? REFUSED : INCONCLUSIVE;
    } catch (IOException none) {
      return INCONCLUSIVE;
    }
  }

  /** Nodes do not speak first. */
  private static boolean staysOpen(Socket socket, int millis) throws IOException {
    socket.setSoTimeout(millis);
    try {
      return socket.getInputStream().read() >= 0;
    } catch (SocketTimeoutException quiet) {
      return true;
    }
  }
}
