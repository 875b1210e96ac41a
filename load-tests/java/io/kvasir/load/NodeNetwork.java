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
 * The network between router nodes on one machine, which can be cut: every byte of one node's remoting to another goes
 * through a relay. Over a cut nothing passes: bytes under way wait in the relay as they would in the sender's system,
 * and arrive when it heals; new connections get no further than the relay. Thread-safe.
 *
 * <p>A node's connections are known by the loopback address they come from, which is one of its own.
 */
public final class NodeNetwork implements AutoCloseable {
  private final List<ServerSocket> relays = new ArrayList<>();
  private final List<Integer> ports = new ArrayList<>();
  private final Set<Integer> cut = ConcurrentHashMap.newKeySet();
  private final ConcurrentLinkedQueue<Socket> open = new ConcurrentLinkedQueue<>();
  private final Object changed = new Object();

  /** The network of so many nodes. */
  public NodeNetwork(int nodes) throws IOException {
    for (int node = 0; node < nodes; node++) {
      ServerSocket relay = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
      relays.add(relay);
      ports.add(Child.freePort());
      int target = node;
      Thread.startVirtualThread(() -> accept(relay, target));
    }
  }

  /** Where the others reach a node: the port of its remoting as its cluster knows it. */
  public int port(int node) {
    return relays.get(node).getLocalPort();
  }

  /** What makes a node part of this network: settings of the platform, beside its port. */
  public String settings(int node) {
    return """
        pekko.remote.artery {
          bind { hostname = "127.0.0.1", port = %d }
          advanced.tcp.outbound-client-hostname = "127.0.1.%d"
        }
        """
        .formatted(ports.get(node), node + 1);
  }

  /** From now on nothing passes between this node and the others. */
  public void cut(int node) {
    cut.add(node);
  }

  /** Everything passes again. */
  public void heal() {
    synchronized (changed) {
      cut.clear();
      changed.notifyAll();
    }
  }

  @Override
  public void close() throws IOException {
    heal();
    for (ServerSocket relay : relays) {
      relay.close();
    }
    for (Socket socket : open) {
      socket.close();
    }
  }

  private boolean passes(int from, int to) {
    return from == to || !(cut.contains(from) || cut.contains(to));
  }

  private void accept(ServerSocket relay, int target) {
    while (!relay.isClosed()) {
      try {
        Socket from = relay.accept();
        int source = from.getInetAddress().getAddress()[3] - 1;
        if (passes(source, target)) {
          Thread.startVirtualThread(() -> connect(from, source, target));
        } else {
          from.close();
        }
      } catch (IOException over) {
        // The relay is closed, or the connection was given up at once.
      }
    }
  }

  private void connect(Socket from, int source, int target) {
    try {
      Socket to = new Socket();
      to.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), ports.get(target)));
      open.add(from);
      open.add(to);
      Thread.startVirtualThread(() -> pass(to, from, source, target));
      pass(from, to, source, target);
    } catch (IOException nobodyThere) {
      close(from);
    }
  }

  /** One direction of a connection. */
  private void pass(Socket from, Socket to, int source, int target) {
    byte[] buffer = new byte[1 << 16];
    try (from; to) {
      InputStream in = from.getInputStream();
      OutputStream out = to.getOutputStream();
      for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
        awaitPassage(source, target);
        out.write(buffer, 0, read);
      }
      awaitPassage(source, target);
    } catch (IOException over) {
      // One of them has closed it.
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  private void awaitPassage(int source, int target) throws InterruptedException {
    synchronized (changed) {
      while (!passes(source, target)) {
        changed.wait();
      }
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
