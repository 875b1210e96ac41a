package io.kvasir.sim.lmcache;

import io.kvasir.sim.http.SimHttpLimits;
import io.kvasir.sim.http.SimHttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A stand-in for the coordinator of LMCache's multi-process mode: servers are members as long as they send heartbeats,
 * prefetches are forwarded to the one they name, and prompts are looked up in what they report to keep. It starts
 * without members. Thread-safe.
 */
public final class CacheCoordinator implements AutoCloseable {
  /** LMCache's usual port. */
  public static final int HTTP = 9300;

  private static final Logger LOG = LoggerFactory.getLogger(CacheCoordinator.class);
  private static final int MAX_BODY_BYTES = 64 << 20;
  private static final Duration KEEP_ALIVE = Duration.ofSeconds(10);

  private final String host;
  private final CoordinatorApi api;
  private final SimHttpServer server;

  private CacheCoordinator(String host, int port, Duration silence) throws IOException {
    this.host = host.equals("0.0.0.0") ? "127.0.0.1" : host;
    this.api = new CoordinatorApi(silence);
    try {
      server =
          new SimHttpServer(new InetSocketAddress(host, port), new SimHttpLimits(MAX_BODY_BYTES, KEEP_ALIVE),
              api);
    } catch (IOException e) {
      api.close();
      throw new IOException("port " + port + ": " + e.getMessage(), e);
    }
  }

  /**
   * Starts a coordinator.
   *
   * @param port 0 for a free one
   * @param silence how long a member may be silent; 30 s in LMCache
   * @throws IOException when the port is taken
   */
  public static CacheCoordinator start(String host, int port, Duration silence) throws IOException {
    CacheCoordinator coordinator = new CacheCoordinator(host, port, silence);
    LOG.info("LMCache coordinator at {}", coordinator.url());
    return coordinator;
  }

  /** Where it answers, such as {@code http://127.0.0.1:9300}. */
  public URI url() {
    return URI.create("http://" + host + ":" + server.port());
  }

  /** Stops as suddenly as a process that is killed. */
  @Override
  public void close() {
    server.close();
    api.close();
  }
}
