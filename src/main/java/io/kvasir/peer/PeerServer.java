package io.kvasir.peer;

import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The listener for peers' connections. A watchdog thread sees to it that no slow handler holds up the requests behind
 * it, and that no handshake takes long; while there is neither, it is parked.
 */
final class PeerServer implements AutoCloseable, InboundConnection.Listener {
  private static final Logger LOG = LoggerFactory.getLogger(PeerServer.class);

  /** More than a cluster has nodes; further connections are closed at once. */
  private static final int MAX_CONNECTIONS = 1_000;

  private static final long ACCEPT_RETRY_NANOS = 100_000_000L;

  /** A handler that still runs at the second look holds up others no longer: after one to two of these. */
  private static final long WATCH_INTERVAL_NANOS = 5_000_000L;

  private final ServerSocket serverSocket;
  private final PeerSockets sockets;
  private final String node;
  private final RequestHandler handler;
  private final int maxLength;
  private final Set<InboundConnection> open = ConcurrentHashMap.newKeySet();
  private final Handshakes handshakes;

  /** Whether the watchdog looks at handlers and handshakes, rather than being parked. */
  private final AtomicBoolean watching = new AtomicBoolean();

  private final Thread watchdog;

  /**
   * Begins to accept connections.
   *
   * @param maxLength the longest request or reply, in bytes
   */
  PeerServer(
      ServerSocket serverSocket,
      PeerSockets sockets,
      String node,
      RequestHandler handler,
      int maxLength,
      NanoClock clock) {
    this.serverSocket = serverSocket;
    this.sockets = sockets;
    this.node = node;
    this.handler = handler;
    this.maxLength = maxLength;
    this.handshakes = new Handshakes(clock);
    this.watchdog = Thread.ofPlatform().name("kvasir-peer-watchdog").daemon().start(this::watch);
    Thread.ofPlatform().name("kvasir-peer-accept").daemon().start(this::accept);
  }

  private void accept() {
    while (!serverSocket.isClosed()) {
      try {
        Socket socket = serverSocket.accept();
        if (open.size() < MAX_CONNECTIONS) {
          start(new InboundConnection(socket, sockets, node, handler, maxLength, this));
        } else {
          socket.close();
        }
      } catch (IOException failed) {
        if (!serverSocket.isClosed()) {
          LOG.warn("a peer's connection could not be accepted: {}", failed.getMessage());
          // Such as for want of file descriptors, which lasts for a while.
          LockSupport.parkNanos(ACCEPT_RETRY_NANOS);
        }
      }
    }
  }

  private void start(InboundConnection connection) {
    open.add(connection);
    InboundConnection oldest = handshakes.begin(connection);
    if (oldest != null) {
      oldest.close();
    }
    connection.start();
    wakeWatchdog();
  }

  @Override
  public void accepted(InboundConnection connection) {
    handshakes.end(connection);
  }

  @Override
  public void handling() {
    wakeWatchdog();
  }

  @Override
  public void closed(InboundConnection connection) {
    handshakes.end(connection);
    open.remove(connection);
  }

  /** Called when a handler or a handshake begins; costs one volatile read while the watchdog is awake. */
  private void wakeWatchdog() {
    if (!watching.get() && watching.compareAndSet(false, true)) {
      LockSupport.unpark(watchdog);
    }
  }

  private void watch() {
    try {
      while (!serverSocket.isClosed()) {
        if (watching.get()) {
          // Not parked: a permit left by a handler would shorten the interval.
          TimeUnit.NANOSECONDS.sleep(WATCH_INTERVAL_NANOS);
          look();
        } else {
          LockSupport.park(this);
        }
      }
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  private void look() {
    // Before looking: what begins from now on is either found here, or finds this false and wakes the thread.
    watching.set(false);
    handshakes.overdue().forEach(InboundConnection::close);
    boolean running = !handshakes.isEmpty();
    for (InboundConnection connection : open) {
      running |= connection.releaseReader();
    }
    if (running) {
      watching.set(true);
    }
  }

  @Override
  public void close() {
    PeerSockets.close(serverSocket);
    LockSupport.unpark(watchdog);
    open.forEach(InboundConnection::close);
  }
}
