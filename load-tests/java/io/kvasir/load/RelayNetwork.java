package io.kvasir.load;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * A network on loopback, for which nothing but Java is needed: every byte of one node to another, over remoting and
 * over lines, goes through a relay. Over a cut nothing passes: bytes under way wait in the relay as they would in the
 * sender's system, and arrive when it heals; new connections get no further than the relay.
 *
 * <p>A node's connections are known by the loopback address they come from, which is one of its own. Who comes from
 * another is not let in.
 */
public final class RelayNetwork implements NodeNetwork {
  private final List<Relay> remoting = new ArrayList<>();
  private final List<Relay> peerRelays = new ArrayList<>();
  private final Set<Integer> partitioned = ConcurrentHashMap.newKeySet();
  private final ConcurrentLinkedQueue<Socket> open = new ConcurrentLinkedQueue<>();
  private final Object changed = new Object();

  /** The network of so many nodes. */
  public RelayNetwork(int nodes) throws IOException {
    for (int node = 0; node < nodes; node++) {
      remoting.add(new Relay(node));
      peerRelays.add(new Relay(node));
    }
  }

  @Override
  public String kind() {
    return "relays";
  }

  @Override
  public String address(int node) {
    return host(node) + ":" + remoting.get(node).port();
  }

  @Override
  public String settings(int node) {
    return """
        kvasir.cluster { port = %d, line-port = %d, line-bind-port = %d }
        pekko.remote.artery {
          bind { hostname = "127.0.0.1", port = %d }
          advanced.tcp.outbound-client-hostname = "127.0.1.%d"
        }
        """
        .formatted(
            remoting.get(node).port(), peerRelays.get(node).port(), peerRelays.get(node).target,
            remoting.get(node).target,
            node + 1);
  }

  @Override
  public void partition(int node) {
    partitioned.add(node);
  }

  @Override
  public void heal() {
    synchronized (changed) {
      partitioned.clear();
      changed.notifyAll();
    }
  }

  @Override
  public void close() throws IOException {
    heal();
    for (Relay relay : remoting) {
      relay.listening.close();
    }
    for (Relay relay : peerRelays) {
      relay.listening.close();
    }
    for (Socket socket : open) {
      socket.close();
    }
  }

  private boolean isConnected(int from, int to) {
    return from == to || !(partitioned.contains(from) || partitioned.contains(to));
  }

  private void awaitConnected(int from, int to) throws InterruptedException {
    synchronized (changed) {
      while (!isConnected(from, to)) {
        changed.wait();
      }
    }
  }

  /** Stands where the others reach a node, for a port at which that listens. */
  private final class Relay {
    private final ServerSocket listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final int node;
    private final int target = Ports.free();

    Relay(int node) throws IOException {
      this.node = node;
      Thread.startVirtualThread(this::accept);
    }

    int port() {
      return listening.getLocalPort();
    }

    private void accept() {
      while (!listening.isClosed()) {
        try {
          Socket from = listening.accept();
          byte[] address = from.getInetAddress().getAddress();
          int source = address[3] - 1;
          if (address[2] == 1 && isConnected(source, node)) {
            Thread.startVirtualThread(() -> connect(from, source));
          } else {
            from.close();
          }
        } catch (IOException over) {
          // The relay is closed, or the connection was given up at once.
        }
      }
    }

    private void connect(Socket from, int source) {
      try {
        Socket to = new Socket();
        to.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), target));
        open.add(from);
        open.add(to);
        Thread.startVirtualThread(() -> pass(to, from, source));
        pass(from, to, source);
      } catch (IOException nobodyThere) {
        close(from);
      }
    }

    /** One direction of a connection. */
    private void pass(Socket from, Socket to, int source) {
      byte[] buffer = new byte[1 << 16];
      try (from; to) {
        InputStream in = from.getInputStream();
        OutputStream out = to.getOutputStream();
        for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
          awaitConnected(source, node);
          out.write(buffer, 0, read);
        }
        awaitConnected(source, node);
      } catch (IOException over) {
        // One of them has closed it.
      } catch (InterruptedException stopped) {
        Thread.currentThread().interrupt();
      }
    }

    private static void close(Socket socket) {
      try {
        socket.close();
      } catch (IOException closed) {
        // It is, all the same.
      }
    }
  }
}
