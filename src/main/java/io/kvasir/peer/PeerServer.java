package io.kvasir.peer;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Accepts the connections of peers, and watches that no slow handler holds up the requests behind it. */
final class PeerServer implements AutoCloseable {
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
  private final Set<InboundConnection> open = ConcurrentHashMap.newKeySet();
  private final Thread watchdog;

  PeerServer(ServerSocket serverSocket, PeerSockets sockets, String node, RequestHandler handler) {
    this.serverSocket = serverSocket;
    this.sockets = sockets;
    this.node = node;
    this.handler = handler;
    this.watchdog = Thread.ofPlatform().name("kvasir-peer-watchdog").daemon().start(this::watch);
    Thread.ofPlatform().name("kvasir-peer-accept").daemon().start(this::accept);
  }

  private void accept() {
    while (!serverSocket.isClosed()) {
      try {
        Socket socket = serverSocket.accept();
        if (open.size() < MAX_CONNECTIONS) {
          InboundConnection connection = new InboundConnection(socket, sockets, node, handler, open::remove);
          open.add(connection);
          connection.start();
          LockSupport.unpark(watchdog);
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

  private void watch() {
    while (!serverSocket.isClosed()) {
      if (open.isEmpty()) {
        LockSupport.park(this);
      } else {
        LockSupport.parkNanos(this, WATCH_INTERVAL_NANOS);
        open.forEach(InboundConnection::releaseReader);
      }
    }
  }

  @Override
  public void close() {
    PeerSockets.close(serverSocket);
    LockSupport.unpark(watchdog);
    open.forEach(InboundConnection::close);
  }
}
