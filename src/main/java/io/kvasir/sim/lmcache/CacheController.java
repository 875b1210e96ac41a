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
 * A stand-in for LMCache's controller: workers, simulated or real, report to it over ZMQ, and it answers over HTTP
 * which of them hold a prompt, by the real one's rules. It starts empty, as the real one: workers with heartbeats
 * report their whole cache again, others stay unknown. Thread-safe.
 */
public final class CacheController implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(CacheController.class);
  private static final int MAX_BODY_BYTES = 64 << 20;
  private static final Duration KEEP_ALIVE = Duration.ofSeconds(5);

  private final ControllerBinding binding;
  private final WorkerSockets workers;
  private final SimHttpServer server;

  private CacheController(ControllerBinding binding, Duration listAge, long noneHash) throws IOException {
    this.binding = binding;
    KeyRegistry registry =
        new KeyRegistry(() -> System.currentTimeMillis() / 1e3, listAge.toMillis() / 1e3, noneHash);
    workers = new WorkerSockets(binding, registry);
    try {
      server =
          new SimHttpServer(
              new InetSocketAddress(binding.host(), binding.port()),
              new SimHttpLimits(MAX_BODY_BYTES, KEEP_ALIVE),
              new ControllerApi(registry));
    } catch (IOException e) {
      workers.close();
      throw new IOException("port " + binding.port() + ": " + e.getMessage(), e);
    }
  }

  /**
   * Starts an empty controller.
   *
   * @param listAge how old the list of all workers may be that it shows
   * @param noneHash what the names of chunks begin from, as {@link NoneHash} has it
   * @throws IOException naming the port that is taken
   */
  public static CacheController start(ControllerBinding binding, Duration listAge, long noneHash)
      throws IOException {
    CacheController controller = new CacheController(binding, listAge, noneHash);
    LOG.info("LMCache controller at {}, workers at {}", controller.url(), controller.workerAddress());
    return controller;
  }

  /** Where it answers, such as {@code http://127.0.0.1:9000}. */
  public URI url() {
    return URI.create("http://" + binding.reachableHost() + ":" + server.port());
  }

  /** The address that workers report to. */
  public ControllerAddress workerAddress() {
    return workers.address();
  }

  /** The port for workers' heartbeats. */
  public int heartbeatPort() {
    return workers.heartbeatPort();
  }

  /** Stops as suddenly as a process that is killed; its registry is lost. */
  @Override
  public void close() {
    server.close();
    workers.close();
  }
}
