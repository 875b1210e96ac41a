package io.kvasir.execution;

import java.time.Duration;

/**
 * The HTTP/1.1 client that talks to pods. For virtual threads: calls block. Connections are kept and reused
 * per pod, last in first out. Thread-safe.
 */
public final class PodClient implements AutoCloseable {
  private final Settings settings;

  /**
   * Limits.
   *
   * @param connectTimeout for the TCP connection and, with https, the handshake
   * @param headTimeout from sending a request to the end of the answer's head: prefill included
   * @param idleTimeout between two pieces of an answer's body
   * @param keepAlive how long an unused connection is kept: shorter than the engines' own, which is 5 s
   *     with uvicorn
   * @param maxIdlePerPod unused connections kept for each pod
   */
  public record Settings(
      Duration connectTimeout, Duration headTimeout, Duration idleTimeout, Duration keepAlive, int maxIdlePerPod) {
    /** What suits engines: a prefill may take minutes. */
    public static Settings defaults() {
      return new Settings(
          Duration.ofSeconds(2), Duration.ofMinutes(10), Duration.ofMinutes(2), Duration.ofSeconds(4), 256);
    }
  }

  /** A client with a pool of its own. */
  public PodClient(Settings settings) {
    this.settings = settings;
  }

  /** A call with the client's own time limits; nothing is sent yet. */
  public PodCall call(PodRequest request) {
    return call(request, settings.headTimeout(), settings.idleTimeout());
  }

  /** A call with time limits of its own; nothing is sent yet. */
  public PodCall call(PodRequest request, Duration headTimeout, Duration idleTimeout) {
    return new PodCall();
  }

  /** Aborts every call and closes every connection. */
  @Override
  public void close() {}
}
