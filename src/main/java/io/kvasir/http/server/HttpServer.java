package io.kvasir.http.server;

import com.typesafe.config.ConfigFactory;
import io.kvasir.http.ChannelLoop;
import io.kvasir.http.MemoryBudget;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.RedactedException;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLSocket;
import org.apache.pekko.NotUsed;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.event.NoLogging;
import org.apache.pekko.http.javadsl.Http;
import org.apache.pekko.http.javadsl.model.HttpRequest;
import org.apache.pekko.http.javadsl.model.HttpResponse;
import org.apache.pekko.http.javadsl.settings.ServerSettings;
import org.apache.pekko.stream.ActorAttributes;
import org.apache.pekko.stream.Attributes;
import org.apache.pekko.stream.Materializer;
import org.apache.pekko.stream.SystemMaterializer;
import org.apache.pekko.stream.TLSProtocol.SslTlsInbound;
import org.apache.pekko.stream.TLSProtocol.SslTlsOutbound;
import org.apache.pekko.stream.javadsl.BidiFlow;
import org.apache.pekko.stream.javadsl.Flow;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The listener: Pekko's HTTP layer over the sockets of this package.
 *
 * <p>Pekko parses requests, of which it gets one at a time ({@link RequestFramer}), and renders heads and whole
 * answers. A {@link ChannelLoop} reads all connections, feeds the layer and sees clients disconnect; with TLS each
 * connection has a reading thread for that. The layer's actor runs on whichever virtual thread has something for it
 * ({@link CallerDispatcher}); the body of a streamed answer goes from its relay straight to the socket. So a streamed
 * event costs one write. {@code load-tests/datapath} compares this with the alternatives.
 *
 * <p>Thread-safe.
 */
public final class HttpServer implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(HttpServer.class);

  private static final int BACKLOG = 4096;

  /** How long clients of connections that have left HTTP may take for an orderly end after the grace. */
  private static final long SHUT_DOWN_NANOS = 1_000_000_000L;

  /** How long exchanges that were cut may take to end. */
  private static final long CUT_EXCHANGES_NANOS = 5_000_000_000L;

  private static final String LAYER =
      """
      pekko.http.server {
        server-header = kvasir
        # Ours run outside the layer: a prefill may take minutes.
        request-timeout = 0 s
        idle-timeout = infinite
        # HTTP/1.0 clients may leave Host out.
        default-host-header = kvasir
        # Targets are passed on as they came.
        raw-request-uri-header = on
        parsing {
          modeled-header-parsing = off
          uri-parsing-mode = relaxed
          illegal-header-warnings = off
          # The limits are HeadLines' and ChunkedBody's; these let through what they accept.
          max-uri-length = 64k
          max-header-name-length = 64k
          max-header-value-length = 64k
          max-header-count = 1024
          max-chunk-size = 1m
          # Bodies are measured where they are gathered.
          max-content-length = infinite
        }
      }
      """;

  private final HttpSettings settings;
  private final HttpHandler handler;
  private final Application application;
  private final HttpMetrics metrics;
  private final NanoClock clock;
  private final MemoryBudget memory;
  private final int longestBody;
  private final ServerSocket listener;
  private final Materializer materializer;
  private final Attributes attributes;
  private final BidiFlow<HttpResponse, SslTlsOutbound, SslTlsInbound, HttpRequest, NotUsed> layer;
  private final OpenConnections connections;
  private final ChannelLoop loop = new ChannelLoop("http-clients", ChannelLoop.defaultThreads());
  private final ConnectionRefusals refusals = new ConnectionRefusals();
  private final AtomicInteger running = new AtomicInteger();
  private final Thread deadlines;

  private volatile boolean draining;

  /** What answers a connection's requests. */
  @FunctionalInterface
  interface Application {
    Flow<HttpRequest, HttpResponse, NotUsed> on(ClientConnection connection);
  }

  private HttpServer(
      ActorSystem<?> system,
      HttpSettings settings,
      HttpHandler handler,
      Application application,
      Metrics metrics,
      NanoClock clock,
      ServerSocket listener) {
    this.settings = settings;
    this.handler = handler;
    this.application = application;
    this.metrics = new HttpMetrics(metrics);
    this.connections =
        new OpenConnections(settings.maxConnections(), settings.maxConnectionsPerAddress(), this.metrics);
    this.clock = clock;
    this.memory = new MemoryBudget(settings.memoryBytes(), clock, metrics);
    this.longestBody = ExchangeStage.longestBody(settings.maxBodyBytes(), memory);
    this.listener = listener;
    this.materializer = SystemMaterializer.get(system).materializer();
    this.attributes = ActorAttributes.dispatcher(CallerDispatcher.in(system));
    ServerSettings layerSettings =
        ServerSettings.create(ConfigFactory.parseString(LAYER).withFallback(system.settings().config()));
    this.deadlines = Thread.ofVirtual().name("http-deadlines").unstarted(this::watchDeadlines);
    this.layer = Http.get(system).serverLayer(layerSettings, Optional.empty(), NoLogging.getInstance());
  }

  /**
   * Binds and begins to accept.
   *
   * @throws IOException when the address cannot be bound; the message names it
   */
  public static HttpServer start(
      ActorSystem<?> system, HttpSettings settings, HttpHandler handler, Metrics metrics, NanoClock clock)
      throws IOException {
    return start(
        system,
        settings,
        handler,
        metrics,
        clock,
        connection -> Flow.fromGraph(new ExchangeStage(connection, handler)));
  }

  static HttpServer start(
      ActorSystem<?> system,
      HttpSettings settings,
      HttpHandler handler,
      Metrics metrics,
      NanoClock clock,
      Application application)
      throws IOException {
    ServerSocket listener = settings.tls() == null ? ServerSocketChannel.open().socket() : new ServerSocket();
    try {
      listener.setReuseAddress(true);
      listener.bind(new InetSocketAddress(settings.host(), settings.port()), BACKLOG);
    } catch (IOException e) {
      listener.close();
      throw new IOException(
          "cannot listen on " + settings.host() + ":" + settings.port() + ": " + e.getMessage(), e);
    }
    HttpServer server = new HttpServer(system, settings, handler, application, metrics, clock, listener);
    LOG.info(
        "{}:{} serves requests within {} MiB of memory, each with a body of at most {} MiB{}",
        settings.host(), listener.getLocalPort(), settings.memoryBytes() >> 20, server.longestBody >> 20,
        server.longestBody < settings.maxBodyBytes() ? ": a longer one would not have its memory" : "");
    server.deadlines.start();
    Thread.ofVirtual().name("http-accept").start(server::accept);
    return server;
  }

  /** Often enough for the shortest time limit, and not more than that. */
  private Duration tick() {
    return Duration.ofMillis(Math.clamp(settings.timeouts().shortest().toMillis() / 4, 10, 250));
  }

  /** The address bound, with its real port. */
  public InetSocketAddress address() {
    InetAddress address = listener.getInetAddress();
    return new InetSocketAddress(address, listener.getLocalPort());
  }

  /** Client connections open now. */
  public int openConnections() {
    return connections.count();
  }

  /** Client connections that wait for a request now. */
  int idleConnections() {
    return connections.idle(clock.nanos());
  }

  /** Exchanges whose handler works for them now. */
  int runningExchanges() {
    return running.get();
  }

  /**
   * Lets running exchanges finish within {@code grace}, then closes the other connections and waits until no handler
   * works for them any more. Meanwhile new requests are refused with 503, so that their senders learn it at once, and
   * connections that have left HTTP are closed in an orderly way in their first pause, or at the end. Blocks.
   */
  public void drain(Duration grace) {
    draining = true;
    long end = clock.nanos() + grace.toNanos();
    try {
      while (olderThanDrain() > 0 && clock.nanos() - end < 0) {
        connections.forEach(ClientConnection::closeIfIdle);
        Thread.sleep(10);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    try {
      listener.close();
    } catch (IOException e) {
      LOG.warn("Closing the listener failed", e);
    }
    closeUpgraded();
    int remaining = olderThanDrain();
    if (remaining > 0) {
      LOG.info("Closing {} connections that did not end in time", remaining);
    }
    connections.forEach(ClientConnection::abort);
    deadlines.interrupt();
    awaitExchanges();
    loop.close();
  }

  /** Has connections that have left HTTP closed, in the midst of what passes there. */
  private void closeUpgraded() {
    long end = clock.nanos() + SHUT_DOWN_NANOS;
    try {
      while (shutDownUpgraded() && clock.nanos() - end < 0) {
        Thread.sleep(10);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Whether there are still connections that have left HTTP. */
  private boolean shutDownUpgraded() {
    boolean some = false;
    for (ClientConnection connection : connections) {
      some |= connection.shutDownIfQuiet(0);
    }
    return some;
  }

  private int olderThanDrain() {
    int older = 0;
    for (ClientConnection connection : connections) {
      older += connection.predatesDrain() ? 1 : 0;
    }
    return older;
  }

  /** Waits for the exchanges that were cut to release what they hold. */
  private void awaitExchanges() {
    long end = clock.nanos() + CUT_EXCHANGES_NANOS;
    try {
      while (running.get() > 0 && clock.nanos() - end < 0) {
        Thread.sleep(5);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (running.get() > 0) {
      LOG.warn("{} exchanges did not end when they were cut", running.get());
    }
  }

  /** Closes everything at once. */
  @Override
  public void close() {
    drain(Duration.ZERO);
  }

  private void accept() {
    while (!listener.isClosed()) {
      try {
        admit(listener.accept());
      } catch (IOException e) {
        if (!listener.isClosed()) {
          // Out of file descriptors, most likely: go on when some have been given back.
          LOG.warn("Accepting a connection failed: {}", e.toString());
          pause();
        }
      } catch (RuntimeException | Error e) {
        LOG.error("Accepting a connection failed", e);
        pause();
      }
    }
  }

  private static void pause() {
    try {
      Thread.sleep(50);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Serves a connection, or refuses it when there are too many. */
  void admit(Socket socket) throws IOException {
    RequestFailure full = connections.makeRoom(socket.getInetAddress(), clock.nanos());
    if (full != null) {
      metrics.connectionRefused();
      boolean answers =
          settings.tls() == null
              && refusals.refuse(
                  socket,
                  () ->
                      PlainAnswer.render(
                          handler.failure(ArrivedRequest.withoutHead("", socket.getInetAddress()), full)));
      if (!answers) {
        unanswered(full);
        socket.close();
      }
      return;
    }
    SocketChannel channel = settings.tls() == null ? socket.getChannel() : null;
    ClientSocket client =
        channel == null ? new BlockingSocket(socket, this::handshake) : new WatchedSocket(channel, loop);
    ClientConnection connection =
        new ClientConnection(new ConnectionServer(), settings, client, socket.getInetAddress(), clock);
    connections.add(connection);
    if (listener.isClosed()) {
      connection.abort();
    }
    Thread.startVirtualThread(connection);
  }

  private void unanswered(RequestFailure failure) {
    ReachedLimit limit = failure.limit();
    if (limit != null) {
      handler.unanswered(limit);
    }
  }

  /** The socket to speak HTTP on: with TLS, after its handshake. */
  private Socket handshake(Socket tcp) throws IOException {
    ListenerTls tls = settings.tls();
    if (tls == null) {
      return tcp;
    }
    SSLSocket socket = (SSLSocket) tls.context().getSocketFactory().createSocket(tcp, null, false);
    socket.setUseClientMode(false);
    socket.setSSLParameters(tls.parameters());
    socket.startHandshake();
    return socket;
  }

  private void watchDeadlines() {
    try {
      while (true) {
        Thread.sleep(tick());
        long now = clock.nanos();
        for (ClientConnection connection : connections) {
          checkDeadlines(connection, now);
        }
        memory.endWaits();
      }
    } catch (InterruptedException e) {
      // Drained.
      Thread.currentThread().interrupt();
    }
  }

  private static void checkDeadlines(ClientConnection connection, long now) {
    try {
      connection.checkDeadlines(now);
    } catch (RuntimeException | Error e) {
      // The others' deadlines are still to be kept.
      LOG.error("Checking the deadlines of a connection from {} failed", connection.client(), RedactedException.of(e));
      connection.abort();
    }
  }

  /** This server as its connections see it. */
  private final class ConnectionServer implements ClientConnection.Server {
    @Override
    public boolean isDraining() {
      return draining;
    }

    @Override
    public MemoryBudget memory() {
      return memory;
    }

    @Override
    public int maxBodyBytes() {
      return longestBody;
    }

    @Override
    public void exchangeStarted() {
      running.incrementAndGet();
    }

    @Override
    public void exchangeEnded() {
      running.decrementAndGet();
    }

    @Override
    public void timedOut(String phase) {
      metrics.timedOut(phase);
    }

    @Override
    public Response.Buffered refusal(ArrivedRequest request, RequestFailure why) {
      return handler.failure(request, why);
    }

    @Override
    public void unanswered(RequestFailure why) {
      HttpServer.this.unanswered(why);
    }

    @Override
    public void materialize(ClientConnection connection) {
      layer
          .join(Flow.fromGraph(new SocketStage(connection)))
          .join(application.on(connection))
          .withAttributes(attributes)
          .run(materializer);
    }

    @Override
    public void connectionClosed(ClientConnection connection) {
      connections.remove(connection);
    }
  }
}
