package io.kvasir.http.client;

import io.kvasir.http.ConnectionThread;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;

/** Connections to pods: opened for a call, given back by it, pooled and reused. Thread-safe. */
final class PodConnections implements AutoCloseable {
  private final Duration connectTimeout;
  private final @Nullable SSLContext tls;
  private final PodMetrics metrics;
  private final NanoClock clock;
  private final IdlePool<CallConnection> pool;
  private final ClientLoop loop;
  private volatile boolean closed;

  /**
   * Connections.
   *
   * @param loop watches those that are not encrypted; closed with this
   */
  PodConnections(
      Duration connectTimeout, @Nullable SSLContext tls, IdlePool<CallConnection> pool, ClientLoop loop,
      PodMetrics metrics, NanoClock clock) {
    this.connectTimeout = connectTimeout;
    this.loop = loop;
    this.tls = tls;
    this.pool = pool;
    this.metrics = metrics;
    this.clock = clock;
  }

  /** An idle connection that the pod has not closed, null when there is none. */
  @Nullable CallConnection pooled(PodOrigin origin) {
    while (true) {
      CallConnection connection = pool.acquire(origin, clock.nanos());
      if (connection == null || connection.reuse()) {
        return connection;
      }
      connection.close();
    }
  }

  /** Counts a request that is sent again because the pod closed its pooled connection meanwhile. */
  void requestResent() {
    metrics.requestResent();
  }

  /** A connection to an origin, not connected. */
  CallConnection to(PodOrigin origin) throws IOException {
    return origin.secure() ? new EncryptedConnection(origin) : new PlainConnection(origin, loop);
  }

  void release(CallConnection connection) {
    if (closed) {
      connection.close();
    } else {
      pool.release(connection, clock.nanos());
    }
  }

  /** Connects {@code connection}, whose socket {@link PodCall#abort} can already close. */
  void connect(PodConnection connection) throws IOException {
    // The name of a host is looked up in a call that keeps the thread.
    ConnectionThread.leaveConnection();
    PodOrigin origin = connection.origin();
    Socket tcp = connection.tcp();
    int timeout = Math.clamp(connectTimeout.toMillis(), 1, Integer.MAX_VALUE);
    InetSocketAddress address = new InetSocketAddress(origin.host(), origin.port());
    if (address.isUnresolved()) {
      throw new SocketException("unknown host " + origin.host());
    }
    tcp.setTcpNoDelay(true);
    tcp.connect(address, timeout);
    if (origin.secure()) {
      SSLSocket socket =
          (SSLSocket) trust().getSocketFactory().createSocket(tcp, origin.host(), origin.port(), true);
      SSLParameters parameters = socket.getSSLParameters();
      parameters.setEndpointIdentificationAlgorithm("HTTPS");
      socket.setSSLParameters(parameters);
      tcp.setSoTimeout(timeout);
      socket.startHandshake();
      tcp.setSoTimeout(0);
      connection.open(socket);
    } else {
      connection.open(tcp);
    }
    metrics.connectionOpened();
  }

  private SSLContext trust() throws IOException {
    if (tls != null) {
      return tls;
    }
    try {
      return SSLContext.getDefault();
    } catch (NoSuchAlgorithmException e) {
      throw new IOException("the platform has no TLS", e);
    }
  }

  void closeExpired(long now) {
    pool.expire(now);
  }

  boolean isClosed() {
    return closed;
  }

  /** Closes idle connections now, and the others when they are released. */
  @Override
  public void close() {
    closed = true;
    pool.close();
    loop.close();
  }
}
