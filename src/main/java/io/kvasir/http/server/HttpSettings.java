package io.kvasir.http.server;

import java.time.Duration;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A listener's address and limits.
 *
 * @param host address to listen on
 * @param port 0 for any free one
 * @param maxConnections further ones are refused with 503
 * @param maxBodyBytes a longer request body is answered with 413
 * @param timeouts how long clients may take
 * @param tls TLS for the listener, null for plain HTTP
 */
public record HttpSettings(
    String host,
    int port,
    int maxConnections,
    int maxBodyBytes,
    Timeouts timeouts,
    @Nullable ListenerTls tls) {
  /**
   * How long clients may take.
   *
   * @param head from a request's first byte to the end of its head; also from accepting a connection
   * @param body from the end of the head to the end of the body
   * @param idle between requests on a kept connection
   * @param write how long one write may wait for a client that does not read
   */
  public record Timeouts(Duration head, Duration body, Duration idle, Duration write) {
    /** The shortest of them. */
    Duration shortest() {
      return Collections.min(List.of(head, body, idle, write));
    }
  }

  /** Defaults, on one address. */
  public static HttpSettings at(String host, int port) {
    Timeouts timeouts =
        new Timeouts(
            Duration.ofSeconds(30), Duration.ofSeconds(120), Duration.ofSeconds(90), Duration.ofSeconds(60));
    return new HttpSettings(host, port, 16_384, 64 << 20, timeouts, null);
  }

  /** The same with another limit on request bodies. */
  public HttpSettings withMaxBodyBytes(int bytes) {
    return new HttpSettings(host, port, maxConnections, bytes, timeouts, tls);
  }

  /** The same with another limit on connections. */
  public HttpSettings withMaxConnections(int connections) {
    return new HttpSettings(host, port, connections, maxBodyBytes, timeouts, tls);
  }

  /** The same with other time limits. */
  public HttpSettings withTimeouts(Duration head, Duration body, Duration idle, Duration write) {
    return new HttpSettings(
        host, port, maxConnections, maxBodyBytes, new Timeouts(head, body, idle, write), tls);
  }

  /** The same, speaking TLS. */
  public HttpSettings withTls(ListenerTls listener) {
    return new HttpSettings(host, port, maxConnections, maxBodyBytes, timeouts, listener);
  }
}
