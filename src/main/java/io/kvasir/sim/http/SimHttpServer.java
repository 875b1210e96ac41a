package io.kvasir.sim.http;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An HTTP/1.1 server that accepts connections and hands every request to a handler on a virtual thread of its own.
 * While a request is handled its connection is read on, so that a closed connection is noticed at once, also before the
 * first byte of the answer ({@link SimHttpExchange#onCancelled}); a half-closed one counts as closed, as with the
 * engines' own servers. Requests of one connection are answered in order, and those of all come to the engine in order
 * ({@link SimHttpExchange#awaitEarlier}). Thread-safe.
 */
public final class SimHttpServer implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(SimHttpServer.class);
  private static final int BACKLOG = 4096;
  private static final int READER_STACK_BYTES = 256 * 1024;

  private final int port;
  private volatile ServerSocket server;
  private volatile Thread acceptor;
  private volatile boolean closed;
  private final SimHttpHandler handler;
  private final SimHttpLimits limits;
  private final ArrivalOrder arrivals = new ArrivalOrder();
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();

  /**
   * Binds and starts.
   *
   * @param address where to listen; port 0 for any free one
   * @throws IOException when the port is taken
   */
  public SimHttpServer(InetSocketAddress address, SimHttpLimits limits, SimHttpHandler handler) throws IOException {
    this.limits = limits;
    this.handler = handler;
    server = listen(address);
    port = server.getLocalPort();
    acceptor = startAccepting();
  }

  /** The port it listens on. */
  public int port() {
    return port;
  }

  /**
   * Stops listening, or listens again on the same port; connections that are open stay.
   *
   * @throws IOException when another process has taken the port meanwhile
   */
  public synchronized void setRefusing(boolean refuses) throws IOException {
    if (refuses) {
      server.close();
      awaitAcceptor();
    } else if (server.isClosed() && !closed) {
      server = listen(new InetSocketAddress(server.getInetAddress(), port));
      acceptor = startAccepting();
    }
  }

  /** The kernel listens on while a thread waits for a connection, be the socket closed or not. */
  private void awaitAcceptor() {
    try {
      acceptor.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Stops listening and drops every connection, as a dying process would. */
  @Override
  public synchronized void close() {
    closed = true;
    try {
      server.close();
    } catch (IOException e) {
      LOG.debug("Closing the listening socket failed", e);
    }
    awaitAcceptor();
    open.forEach(SimHttpExchange::closeQuietly);
  }

  private static ServerSocket listen(InetSocketAddress address) throws IOException {
    ServerSocket socket = new ServerSocket();
    try {
      socket.setReuseAddress(true);
      socket.bind(address, BACKLOG);
      return socket;
    } catch (IOException e) {
      socket.close();
      throw e;
    }
  }

  private Thread startAccepting() {
    ServerSocket listening = server;
    return Thread.ofPlatform().daemon().name("sim-http-" + port).start(() -> accept(listening));
  }

  private void accept(ServerSocket listening) {
    while (!listening.isClosed()) {
      try {
        Socket socket = listening.accept();
        open.add(socket);
        if (closed) {
          SimHttpExchange.closeQuietly(socket);
        }
        // Virtual threads that wait for sockets go on in another order than what they wait for came.
        Thread.ofPlatform().daemon().stackSize(READER_STACK_BYTES).name("sim-http-reader").start(() -> serve(socket));
      } catch (IOException e) {
        if (!listening.isClosed()) {
          LOG.warn("A connection could not be accepted", e);
        }
      }
    }
  }

  private void serve(Socket socket) {
    try (socket) {
      socket.setTcpNoDelay(true);
      new SimHttpConnection(socket, limits, handler, arrivals).run();
    } catch (IOException e) {
      LOG.trace("A connection ended", e);
    } finally {
      open.remove(socket);
    }
  }
}
