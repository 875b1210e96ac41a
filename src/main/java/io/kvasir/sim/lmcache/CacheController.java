package io.kvasir.sim.lmcache;

import io.kvasir.sim.http.SimHttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A stand-in for LMCache's controller: it hears workers over ZMQ, simulated or real, and answers who holds a prompt
 * over HTTP, by the real one's rules. It knows nothing when it starts, as the real one: workers with heartbeats tell it
 * all again, others are lost to it. Thread-safe.
 */
public final class CacheController implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(CacheController.class);
  private static final int MAX_BODY_BYTES = 64 << 20;
  private static final Duration KEEP_ALIVE = Duration.ofSeconds(5);

  private final Binding binding;
  private final WorkerSockets workers;
  private final SimHttpServer server;

  /**
   * Where a controller listens; port 0 for a free one.
   *
   * @param host interface
   * @param port of HTTP
   * @param pullPort of what workers tell
   * @param replyPort of what workers ask
   * @param heartbeatPort of workers' heartbeats
   */
  public record Binding(String host, int port, int pullPort, int replyPort, int heartbeatPort) {
    /** LMCache's usual HTTP port. */
    public static final int HTTP = 9000;

    /** Any free ports of the loopback interface. */
    public static final Binding ANYWHERE = new Binding("127.0.0.1", 0, 0, 0, 0);

    String reachableHost() {
      return host.equals("*") || host.equals("0.0.0.0") ? "127.0.0.1" : host;
    }
  }

  private CacheController(Binding binding, Duration listAge) throws IOException {
    this.binding = binding;
    KeyRegistry registry = new KeyRegistry(() -> System.currentTimeMillis() / 1e3, listAge.toMillis() / 1e3);
    workers = new WorkerSockets(binding, registry);
    try {
      server =
          new SimHttpServer(
              new InetSocketAddress(binding.host(), binding.port()),
              new SimHttpServer.Limits(MAX_BODY_BYTES, KEEP_ALIVE),
              new ControllerApi(registry));
    } catch (IOException e) {
      workers.close();
      throw new IOException("port " + binding.port() + ": " + e.getMessage(), e);
    }
  }

  /**
   * Starts a controller that knows nothing.
   *
   * @param listAge how old the list of all workers may be that it shows
   * @throws IOException naming the port that is taken
   */
  public static CacheController start(Binding binding, Duration listAge) throws IOException {
    CacheController controller = new CacheController(binding, listAge);
    LOG.info("LMCache controller at {}, workers at {}", controller.url(), controller.workerAddress());
    return controller;
  }

  /** Where it answers, such as {@code http://127.0.0.1:9000}. */
  public URI url() {
    return URI.create("http://" + binding.reachableHost() + ":" + server.port());
  }

  /** Where workers are to tell and ask. */
  public ControllerAddress workerAddress() {
    return workers.address();
  }

  /** Where their heartbeats go. */
  public int heartbeatPort() {
    return workers.heartbeatPort();
  }

  /** Dies, as a process that is killed; what it knew is lost. */
  @Override
  public void close() {
    server.close();
    workers.close();
  }
}
