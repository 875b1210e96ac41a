package io.kvasir.http.client;

import io.kvasir.telemetry.Metrics;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.URI;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;

/**
 * The HTTP/1.1 client that talks to pods: blocking sockets for virtual threads. Connections are kept and reused
 * per pod, last in first out.
 *
 * <p>It is our own because of what a router needs and general clients do not offer together: a call can be cut from
 * any thread at any moment, also before its first byte; a piece of the body is handed over as soon as it
 * arrives and costs one read; a POST that met a connection the engine had just closed is sent again; and the
 * time limits cost nothing per read, for they are checked by one thread that looks at all calls.
 *
 * <p>Thread-safe.
 */
public final class PodClient implements AutoCloseable {
  private final Settings settings;
  private final PodMetrics metrics;
  private final IdlePool pool;
  private final Set<PodCall> calls = ConcurrentHashMap.newKeySet();
  private final Thread deadlines;

  private volatile boolean closed;

  /**
   * Limits.
   *
   * @param connectTimeout for the TCP connection, and again for the handshake with https
   * @param headTimeout from sending a request to the end of the answer's head: prefill included
   * @param idleTimeout between two pieces of an answer's body
   * @param keepAlive how long an unused connection is kept: shorter than the engines' own, which is 5 s
   *     with uvicorn
   * @param maxIdlePerPod unused connections kept for each pod
   * @param tls trust for https pods, null for the platform's own
   */
  public record Settings(
      Duration connectTimeout,
      Duration headTimeout,
      Duration idleTimeout,
      Duration keepAlive,
      int maxIdlePerPod,
      @Nullable SSLContext tls) {
    /** What suits engines: a prefill may take minutes. */
    public static Settings defaults() {
      return new Settings(
          Duration.ofSeconds(2), Duration.ofMinutes(10), Duration.ofMinutes(2), Duration.ofSeconds(4), 256, null);
    }

    /** The same with other time limits. */
    public Settings withTimeouts(Duration connect, Duration head, Duration idle) {
      return new Settings(connect, head, idle, keepAlive, maxIdlePerPod, tls);
    }

    /** The same with another trust. */
    public Settings withTls(SSLContext context) {
      return new Settings(connectTimeout, headTimeout, idleTimeout, keepAlive, maxIdlePerPod, context);
    }
  }

  /** Where a connection leads. */
  record Origin(boolean secure, String host, int port) {
    static Origin of(URI pod) {
      String scheme = pod.getScheme() == null ? "" : pod.getScheme().toLowerCase(Locale.ROOT);
      String host = pod.getHost();
      if (host == null || !(scheme.equals("http") || scheme.equals("https"))) {
        throw new IllegalArgumentException("a pod's URL must be http://host:port or https://host:port, not " + pod);
      }
      boolean secure = scheme.equals("https");
      int port = pod.getPort() >= 0 ? pod.getPort() : secure ? 443 : 80;
      // An IPv6 address stands in brackets in a URL, and without them everywhere else.
      String bare = host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
      return new Origin(secure, bare, port);
    }
  }

  /** A client with a pool of its own. */
  public PodClient(Settings settings, Metrics metrics) {
    this.settings = settings;
    this.metrics = new PodMetrics(metrics);
    this.pool = new IdlePool(settings.maxIdlePerPod(), settings.keepAlive().toNanos());
    long shortest =
        Math.min(
            settings.keepAlive().toMillis(),
            Math.min(settings.headTimeout().toMillis(), settings.idleTimeout().toMillis()));
    long tick = Math.clamp(shortest / 4, 10, 250);
    this.deadlines = Thread.ofVirtual().name("pod-deadlines").start(() -> watchDeadlines(tick));
  }

  /** A call with the client's own time limits; nothing is sent yet. */
  public PodCall call(PodRequest request) {
    return call(request, settings.headTimeout(), settings.idleTimeout());
  }

  /**
   * A call with time limits of its own; nothing is sent yet.
   *
   * @throws IllegalArgumentException when the pod's URL is not http or https, or the request has control characters
   *     in its target or headers
   */
  public PodCall call(PodRequest request, Duration headTimeout, Duration idleTimeout) {
    return new PodCall(this, request, headTimeout.toNanos(), idleTimeout.toNanos());
  }

  /** Aborts every call and closes every connection. */
  @Override
  public void close() {
    closed = true;
    deadlines.interrupt();
    calls.forEach(PodCall::abort);
    pool.close();
  }

  private void watchDeadlines(long tickMillis) {
    try {
      while (!closed) {
        Thread.sleep(tickMillis);
        long now = System.nanoTime();
        for (PodCall call : calls) {
          call.checkDeadline(now);
        }
        pool.expire(now);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  // For calls.

  PodMetrics metrics() {
    return metrics;
  }

  void register(PodCall call) throws PodException {
    calls.add(call);
    if (closed) {
      calls.remove(call);
      throw new PodException(PodException.Kind.ABORTED, "the client is closed", null);
    }
  }

  void unregister(PodCall call) {
    calls.remove(call);
  }

  @Nullable PodConnection pooled(Origin origin) {
    return pool.acquire(origin, System.nanoTime());
  }

  void release(PodConnection connection) {
    if (closed) {
      connection.close();
    } else {
      pool.release(connection, System.nanoTime());
    }
  }

  /** Connects {@code connection}, whose socket {@link PodCall#abort} can already close. */
  void connect(PodConnection connection) throws IOException {
    Origin origin = connection.origin();
    Socket tcp = connection.tcp();
    int timeout = Math.clamp(settings.connectTimeout().toMillis(), 1, Integer.MAX_VALUE);
    InetSocketAddress address = new InetSocketAddress(origin.host(), origin.port());
    if (address.isUnresolved()) {
      throw new SocketException("unknown host " + origin.host());
    }
    tcp.setTcpNoDelay(true);
    tcp.connect(address, timeout);
    if (!origin.secure()) {
      connection.open(tcp);
      return;
    }
    SSLSocket socket =
        (SSLSocket) trust().getSocketFactory().createSocket(tcp, origin.host(), origin.port(), true);
    SSLParameters parameters = socket.getSSLParameters();
    parameters.setEndpointIdentificationAlgorithm("HTTPS");
    socket.setSSLParameters(parameters);
    tcp.setSoTimeout(timeout);
    socket.startHandshake();
    tcp.setSoTimeout(0);
    connection.open(socket);
  }

  private SSLContext trust() throws IOException {
    SSLContext own = settings.tls();
    if (own != null) {
      return own;
    }
    try {
      return SSLContext.getDefault();
    } catch (NoSuchAlgorithmException e) {
      throw new IOException("the platform has no TLS", e);
    }
  }
}
