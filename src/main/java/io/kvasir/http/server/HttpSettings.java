package io.kvasir.http.server;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A listener's address and limits.
 *
 * @param host address to listen on
 * @param port 0 for any free one
 * @param maxConnections further ones are refused with 503
 * @param maxBodyBytes a longer request body is answered with 413
 * @param headTimeout from a request's first byte to the end of its head; also from accepting a connection
 * @param bodyTimeout from the end of the head to the end of the body
 * @param idleTimeout between requests on a kept connection
 * @param writeTimeout how long one write may wait for a client that does not read
 * @param tls TLS for the listener, null for plain HTTP
 */
public record HttpSettings(
    String host,
    int port,
    int maxConnections,
    int maxBodyBytes,
    Duration headTimeout,
    Duration bodyTimeout,
    Duration idleTimeout,
    Duration writeTimeout,
    @Nullable ListenerTls tls) {
  /** Defaults, on one address. */
  public static HttpSettings at(String host, int port) {
    return new HttpSettings(
        host,
        port,
        16_384,
        64 << 20,
        Duration.ofSeconds(30),
        Duration.ofSeconds(120),
        Duration.ofSeconds(90),
        Duration.ofSeconds(60),
        null);
  }

  /** The same with another limit on request bodies. */
  public HttpSettings withMaxBodyBytes(int bytes) {
    return new HttpSettings(
        host, port, maxConnections, bytes, headTimeout, bodyTimeout, idleTimeout, writeTimeout, tls);
  }

  /** The same with another limit on connections. */
  public HttpSettings withMaxConnections(int connections) {
    return new HttpSettings(
        host, port, connections, maxBodyBytes, headTimeout, bodyTimeout, idleTimeout, writeTimeout, tls);
  }

  /** The same with other time limits. */
  public HttpSettings withTimeouts(Duration head, Duration body, Duration idle, Duration write) {
    return new HttpSettings(host, port, maxConnections, maxBodyBytes, head, body, idle, write, tls);
  }

  /** The same, speaking TLS. */
  public HttpSettings withTls(ListenerTls listener) {
    return new HttpSettings(
        host, port, maxConnections, maxBodyBytes, headTimeout, bodyTimeout, idleTimeout, writeTimeout, listener);
  }
}
