package io.kvasir.peer;

import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** A node's connections to all its peers, and theirs to it. Thread-safe. */
public final class PeerConnections implements AutoCloseable {
  /** How long no new connection is made to a node after one to it broke. */
  private static final long RECONNECT_NANOS = Duration.ofSeconds(1).toNanos();

  private final PeerSockets sockets;
  private final ServerSocket serverSocket;
  private final int port;
  private final int maxLength;
  private final NanoClock clock;
  private final Map<PeerAddress, PeerConnection> connections = new ConcurrentHashMap<>();
  private final Map<PeerAddress, Long> failedNanos = new ConcurrentHashMap<>();
  private @Nullable PeerServer server;
  private volatile boolean closed;

  private PeerConnections(
      PeerSockets sockets, ServerSocket serverSocket, PeerSettings settings, NanoClock clock) {
    this.sockets = sockets;
    this.serverSocket = serverSocket;
    this.port = settings.advertisedPort() == 0 ? serverSocket.getLocalPort() : settings.advertisedPort();
    this.maxLength = settings.maxLength();
    this.clock = clock;
  }

  /**
   * Binds the port for peers. Connections to it wait until {@link #serve}.
   *
   * @param tls how nodes authenticate each other, null when any client that reaches the port may send requests
   * @throws IOException when the port is taken
   */
  public static PeerConnections bind(PeerSettings settings, @Nullable PeerTls tls, NanoClock clock)
      throws IOException {
    PeerSockets sockets = new PeerSockets(settings.localAddress(), tls);
    ServerSocket serverSocket = sockets.listen(settings.host(), settings.port());
    return new PeerConnections(sockets, serverSocket, settings, clock);
  }

  /** The port at which peers reach this node. */
  public int port() {
    return port;
  }

  /**
   * Begins to handle requests of peers.
   *
   * @param node this node's name
   * @throws IllegalStateException when called a second time
   */
  public synchronized void serve(String node, RequestHandler handler) {
    if (server != null) {
      throw new IllegalStateException("requests are handled already");
    }
    server = new PeerServer(serverSocket, sockets, node, handler, maxLength, clock);
  }

  /**
   * Sends a request to another node. Requests to one node are handled in the order in which they are sent, unless the
   * handler takes milliseconds over one: then those behind it overtake it. Without a connection one is made in the
   * background, for later requests.
   *
   * @param timeout how long the reply may take; other requests on the connection are not affected when it takes longer
   * @return completes with the reply, null when the other node's handler has none; with a {@link
   *     java.util.concurrent.TimeoutException} when no reply came in time or an {@link IOException} when the connection
   *     broke, and the request may have been handled then. Null when the request was not sent because there is no
   *     connection, or because it is longer than {@link PeerSettings#maxLength}
   */
  public @Nullable CompletableFuture<byte @Nullable []> request(PeerAddress peer, byte[] content, Duration timeout) {
    PeerConnection connection = connections.get(peer);
    if (connection == null) {
      open(peer);
      return null;
    }
    return connection.request(content, timeout);
  }

  /** Makes a connection to another node in the background, if there is none: the first request need not do without. */
  public void connect(PeerAddress peer) {
    if (!connections.containsKey(peer)) {
      open(peer);
    }
  }

  private void open(PeerAddress peer) {
    Long failed = failedNanos.get(peer);
    if (!closed && (failed == null || clock.nanos() - failed > RECONNECT_NANOS)) {
      PeerConnection connection = new PeerConnection(peer, sockets, maxLength, () -> disconnected(peer));
      if (connections.putIfAbsent(peer, connection) == null) {
        connection.open();
      }
    }
  }

  private void disconnected(PeerAddress peer) {
    long now = clock.nanos();
    // Nodes that never return are few, but a process may outlive many.
    failedNanos.values().removeIf(at -> now - at > RECONNECT_NANOS);
    failedNanos.put(peer, now);
    connections.remove(peer);
  }

  /** Closes the port and all connections. Idempotent. */
  @Override
  public synchronized void close() {
    closed = true;
    connections.values().forEach(PeerConnection::close);
    PeerSockets.close(serverSocket);
    if (server != null) {
      server.close();
    }
  }
}
