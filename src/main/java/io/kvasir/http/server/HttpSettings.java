package io.kvasir.http.server;

import io.kvasir.http.server.ProgressDeadline.Limits;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A listener's address and limits.
 *
 * @param host address to listen on
 * @param port 0 for any free one
 * @param maxConnections beyond it idle connections are closed for new ones, or new ones refused with 503
 * @param maxConnectionsPerAddress the same for each client address
 * @param maxBodyBytes a longer request body is answered with 413
 * @param memoryBytes what the requests of all clients may take together, see {@link io.kvasir.http.MemoryBudget}
 * @param timeouts how long clients may take
 * @param tls TLS for the listener, null for plain HTTP
 */
public record HttpSettings(
    String host,
    int port,
    int maxConnections,
    int maxConnectionsPerAddress,
    int maxBodyBytes,
    long memoryBytes,
    Timeouts timeouts,
    @Nullable ListenerTls tls) {
  /**
   * How long clients may take.
   *
   * @param head from a request's first byte to the end of its head; also from accepting a connection
   * @param body from the end of the head to the end of the body; prolonged by {@code minRate}
   * @param idle between requests on a kept connection
   * @param write how long a write may make no progress for a client that does not read, and with {@code minRate} how
   *     long it may take
   * @param stall how long a head or a body that has begun may not go on
   * @param minRate bytes a second: each so many that have come of a body, or have been written of an answer, give the
   *     client a second more
   */
  public record Timeouts(Duration head, Duration body, Duration idle, Duration write, Duration stall, int minRate) {
    /** Checks that the rate is positive. */
    public Timeouts {
      if (minRate <= 0) {
        throw new IllegalArgumentException("min-rate is " + minRate + ", and has to be at least 1 byte a second");
      }
    }

    /** The shortest of them. */
    Duration shortest() {
      return Collections.min(List.of(head, body, idle, write, stall));
    }

    Limits headLimits() {
      return new Limits(head.toNanos(), stall.toNanos(), 0);
    }

    Limits bodyLimits() {
      return new Limits(body.toNanos(), stall.toNanos(), minRate);
    }

    Limits writeLimits() {
      return new Limits(write.toNanos(), write.toNanos(), minRate);
    }
  }

  /** Defaults, on one address. */
  public static HttpSettings at(String host, int port) {
    Timeouts timeouts =
        new Timeouts(
            Duration.ofSeconds(30),
            Duration.ofSeconds(120),
            Duration.ofSeconds(90),
            Duration.ofSeconds(60),
            Duration.ofSeconds(10),
            32 << 10);
    return new HttpSettings(host, port, 16_384, 16_384, 64 << 20, Runtime.getRuntime().maxMemory() / 4, timeouts, null);
  }

  /** The same with another limit on request bodies. */
  public HttpSettings withMaxBodyBytes(int bytes) {
    return new HttpSettings(host, port, maxConnections, maxConnectionsPerAddress, bytes, memoryBytes, timeouts, tls);
  }

  /** The same with another limit on the memory of requests. */
  public HttpSettings withMemoryBytes(long bytes) {
    return new HttpSettings(
        host, port, maxConnections, maxConnectionsPerAddress, maxBodyBytes, bytes, timeouts, tls);
  }

  /** The same with another limit on connections. */
  public HttpSettings withMaxConnections(int connections) {
    return new HttpSettings(
        host, port, connections, maxConnectionsPerAddress, maxBodyBytes, memoryBytes, timeouts, tls);
  }

  /** The same with another limit on connections from one address. */
  public HttpSettings withMaxConnectionsPerAddress(int connections) {
    return new HttpSettings(host, port, maxConnections, connections, maxBodyBytes, memoryBytes, timeouts, tls);
  }

  /** The same with other time limits. */
  public HttpSettings withTimeouts(Timeouts others) {
    return new HttpSettings(
        host, port, maxConnections, maxConnectionsPerAddress, maxBodyBytes, memoryBytes, others, tls);
  }

  /** The same with other time limits for heads, bodies, idle connections and writes. */
  public HttpSettings withTimeouts(Duration head, Duration body, Duration idle, Duration write) {
    return withTimeouts(new Timeouts(head, body, idle, write, timeouts.stall(), timeouts.minRate()));
  }

  /** The same, speaking TLS. */
  public HttpSettings withTls(ListenerTls listener) {
    return new HttpSettings(
        host, port, maxConnections, maxConnectionsPerAddress, maxBodyBytes, memoryBytes, timeouts, listener);
  }
}
