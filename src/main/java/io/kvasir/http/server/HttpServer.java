package io.kvasir.http.server;

import io.kvasir.http.ChannelLoop;
import io.kvasir.http.MemoryBudget;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import javax.net.ssl.SSLSocket;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.stream.javadsl.Flow;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The listener: Pekko's HTTP layer over the sockets of this package.
 *
 * <p>Pekko parses requests, of which it gets one at a time ({@link RequestFramer}), and renders heads and whole
 * answers. A {@link ChannelLoop} reads all connections, feeds the layer and sees clients disconnect; with TLS each
 * connection has a reading thread for that. The layer's actor runs on whichever virtual thread has something for it
 * ({@link CallerDispatcher}), and a short request on the loop's own thread ({@link io.kvasir.http.ConnectionThread}).
 * The body of a streamed answer goes from its relay straight to the socket, so a streamed event costs one write. {@code
 * load-tests/datapath} compares this with the alternatives.
 *
 * <p>Thread-safe.
 */
public final class HttpServer implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(HttpServer.class);

  private static final int BACKLOG = 4096;

  private final HttpSettings settings;
  private final HttpHandler handler;
  private final HttpMetrics metrics;
  private final NanoClock clock;
  private final MemoryBudget memory;
  private final int longestBody;
  private final ServerSocket listener;
  private final HttpLayer layer;
  private final OpenConnections connections;
  private final Drain drain;
  private final DeadlineWatch deadlines;
  private final ChannelLoop loop;
  private final ConnectionRefusals refusals;

  private HttpServer(
      ActorSystem<?> system,
      HttpSettings settings,
      HttpHandler handler,
      HttpLayer.Application application,
      ChannelLoop loop,
      Metrics metrics,
      NanoClock clock,
      ServerSocket listener) {
    this.settings = settings;
    this.loop = loop;
    this.handler = handler;
    this.metrics = new HttpMetrics(metrics);
    this.connections =
        new OpenConnections(settings.maxConnections(), settings.maxConnectionsPerAddress(), this.metrics);
    this.clock = clock;
    this.memory = new MemoryBudget(settings.memoryBytes(), clock, metrics);
    this.longestBody = ExchangeStage.longestBody(settings.maxBodyBytes(), memory);
    this.listener = listener;
    this.refusals = new ConnectionRefusals(clock);
    this.drain = new Drain(connections, clock);
    this.deadlines = new DeadlineWatch(settings.timeouts(), connections, memory, clock);
    this.layer = new HttpLayer(system, application);
  }

  /**
   * Binds and begins to accept.
   *
   * @param loop watches the connections that are not encrypted; outlives the server
   * @throws IOException when the address cannot be bound; the message names it
   */
  public static HttpServer start(
      ActorSystem<?> system, HttpSettings settings, HttpHandler handler, ChannelLoop loop, Metrics metrics,
      NanoClock clock)
      throws IOException {
    return start(
        system,
        settings,
        handler,
        loop,
        metrics,
        clock,
        connection -> Flow.fromGraph(new ExchangeStage(connection, handler)));
  }

  static HttpServer start(
      ActorSystem<?> system,
      HttpSettings settings,
      HttpHandler handler,
      ChannelLoop loop,
      Metrics metrics,
      NanoClock clock,
      HttpLayer.Application application)
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
    HttpServer server = new HttpServer(system, settings, handler, application, loop, metrics, clock, listener);
    LOG.info(
        "{}:{} serves requests within {} MiB of memory, each with a body of at most {} MiB{}",
        settings.host(), listener.getLocalPort(), settings.memoryBytes() >> 20, server.longestBody >> 20,
        server.longestBody < settings.maxBodyBytes() ? ": a longer one would not have its memory" : "");
    server.deadlines.start();
    Thread.ofVirtual().name("http-accept").start(server::accept);
    return server;
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
    return drain.runningExchanges();
  }

  /**
   * Lets running exchanges finish within {@code grace}, then closes the other connections and waits until no handler
   * works for them any more. Meanwhile new requests are refused with 503, so that their senders learn it at once, and
   * connections that have left HTTP are closed in an orderly way in their first pause, or at the end. Blocks.
   */
  public void drain(Duration grace) {
    drain.letFinish(grace);
    try {
      listener.close();
    } catch (IOException e) {
      LOG.warn("Closing the listener failed", e);
    }
    drain.closeRemaining();
    deadlines.stop();
    drain.awaitExchanges();
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

  /** This server as its connections see it. */
  private final class ConnectionServer implements ClientConnection.Server {
    @Override
    public boolean isDraining() {
      return drain.hasBegun();
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
      drain.exchangeStarted();
    }

    @Override
    public void exchangeEnded() {
      drain.exchangeEnded();
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
      layer.materialize(connection);
    }

    @Override
    public void connectionClosed(ClientConnection connection) {
      connections.remove(connection);
    }
  }
}
