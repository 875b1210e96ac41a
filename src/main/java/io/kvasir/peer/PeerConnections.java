package io.kvasir.peer;

import java.io.IOException;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** A node's lines to all others, and theirs to it. Thread-safe. */
public final class PeerConnections implements AutoCloseable {
  /** After a line broke, its node is asked in other ways for this long. */
  private static final long RECONNECT_NANOS = Duration.ofSeconds(1).toNanos();

  private final PeerSockets sockets;
  private final ServerSocket serverSocket;
  private final int port;
  private final Map<PeerAddress, PeerConnection> connections = new ConcurrentHashMap<>();
  private final Map<PeerAddress, Long> failedNanos = new ConcurrentHashMap<>();
  private @Nullable PeerServer server;
  private volatile boolean closed;

  private PeerConnections(PeerSockets sockets, ServerSocket listening, int advertised) {
    this.sockets = sockets;
    this.serverSocket = listening;
    this.port = advertised == 0 ? listening.getLocalPort() : advertised;
  }

  /**
   * Takes a port, on which nobody is answered before {@link #serve}.
   *
   * @param tls how nodes know each other, null when anybody may ask who reaches the port
   * @throws IOException when the port is taken
   */
  public static PeerConnections bind(PeerSettings settings, @Nullable PeerTls tls) throws IOException {
    PeerSockets sockets = new PeerSockets(settings.localAddress(), tls);
    return new PeerConnections(sockets, sockets.listen(settings.host(), settings.port()), settings.advertisedPort());
  }

  /** Where others find this node. */
  public int port() {
    return port;
  }

  /** Answers from now on, as the node of a name. Once. */
  public synchronized void serve(String node, RequestHandler answerer) {
    if (server != null) {
      throw new IllegalStateException("somebody answers already");
    }
    server = new PeerServer(serverSocket, sockets, node, answerer);
  }

  /**
   * Asks another node. What is asked first is heard first, if it is asked over the same line. Whoever finds no line has
   * one made, for those who come later.
   *
   * @param patience how long the answer is waited for; then the line is closed, for whatever else is asked on it, too
   * @return completes with the answer, or with null when the node passes; or fails, with a {@link
   *     java.util.concurrent.TimeoutException} when no answer came in time, with an {@link IOException} when the line
   *     broke: the question may have been heard. Null when it was not asked, for want of a line
   */
  public @Nullable CompletableFuture<byte @Nullable []> request(PeerAddress to, byte[] question, Duration patience) {
    PeerConnection line = connections.get(to);
    if (line == null) {
      open(to);
      return null;
    }
    return line.request(question, patience);
  }

  private void open(PeerAddress to) {
    Long broken = failedNanos.get(to);
    if (!closed && (broken == null || System.nanoTime() - broken > RECONNECT_NANOS)) {
      PeerConnection line = new PeerConnection(to, sockets, () -> disconnected(to));
      if (connections.putIfAbsent(to, line) == null) {
        line.open();
      }
    }
  }

  private void disconnected(PeerAddress to) {
    // Nodes that are gone for good are few, but a process may outlive many.
    failedNanos.values().removeIf(at -> System.nanoTime() - at > RECONNECT_NANOS);
    failedNanos.put(to, System.nanoTime());
    connections.remove(to);
  }

  /** Hangs up everywhere. Idempotent. */
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
