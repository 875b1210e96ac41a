package io.kvasir.load;

import com.typesafe.config.ConfigFactory;
import io.kvasir.http.ByteSink;
import io.kvasir.http.ChannelLoop;
import io.kvasir.http.Headers;
import io.kvasir.http.StreamingBody;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.HttpServer;
import io.kvasir.http.server.HttpSettings;
import io.kvasir.http.server.Response;
import io.kvasir.http.server.StreamRelay;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.http.javadsl.Http;
import org.apache.pekko.http.javadsl.settings.ServerSettings;

/**
 * One way to build the data path, in a process of its own: {@code DataPathRouter UPSTREAM RELAY ENGINE_PORT}. Says
 * {@code port P} when it listens. It does nothing but pass on.
 */
final class DataPathRouter {
  /** The candidates for the pod client. */
  enum Client {
    SOCKETS,
    NETTY,
    PEKKO,
    JDK
  }

  /** The candidates for the way back to the client. */
  enum RelayPath {
    /** Our transport; the relay writes to the socket. */
    DIRECT,
    /** Our transport; events go through Pekko's stream one by one. */
    STREAM,
    /** Our transport; what has queued goes through Pekko's stream at once. */
    COALESCING,
    /** Pekko HTTP's own server; events one by one. */
    PEKKO_SERVER
  }

  private DataPathRouter() {}

  public static void main(String[] arguments) throws Exception {
    Client client = Client.valueOf(arguments[0]);
    RelayPath relay = RelayPath.valueOf(arguments[1]);
    int engine = Integer.parseInt(arguments[2]);
    ActorSystem<Void> system =
        ActorSystem.create(
            Behaviors.empty(),
            "router",
            ConfigFactory.parseString(
                    """
                    pekko.actor.default-dispatcher.fork-join-executor { parallelism-min = 2, parallelism-max = 2 }
                    pekko.actor.internal-dispatcher.fork-join-executor { parallelism-min = 2, parallelism-max = 2 }
                    pekko.http.server {
                      request-timeout = 0 s
                      idle-timeout = infinite
                      parsing { max-content-length = infinite, modeled-header-parsing = off }
                    }
                    pekko.http.client.idle-timeout = infinite
                    pekko.log-dead-letters = off
                    """)
                .withFallback(ConfigFactory.load()));
    Upstream upstream =
        switch (client) {
          case SOCKETS -> new SocketsUpstream(engine);
          case NETTY -> new NettyUpstream(engine);
          case PEKKO -> new PekkoUpstream(system, engine);
          case JDK -> new JdkUpstream(engine);
        };
    int port =
        switch (relay) {
          case DIRECT ->
              HttpServer.start(
                      system,
                      HttpSettings.at("127.0.0.1", 0),
                      exchange -> relay(upstream, exchange),
                      new ChannelLoop("data-path", ChannelLoop.defaultThreads()),
                      new Metrics(new PrometheusRegistry()),
                      NanoClock.SYSTEM)
                  .address()
                  .getPort();
          case STREAM -> StreamRelay.start(system, upstream, false).address().getPort();
          case COALESCING -> StreamRelay.start(system, upstream, true).address().getPort();
          case PEKKO_SERVER ->
              Http.get(system)
                  .newServerAt("127.0.0.1", 0)
                  .withSettings(ServerSettings.create(system.settings().config()))
                  .bindFlow(StreamRelay.flow(system, upstream, false))
                  .toCompletableFuture()
                  .get(20, TimeUnit.SECONDS)
                  .localAddress()
                  .getPort();
        };
    System.out.println("port " + port);
    new CountDownLatch(1).await();
  }

  private static Response relay(Upstream upstream, Exchange exchange) throws Exception {
    Upstream.Reply reply = upstream.send(exchange.body());
    if (!reply.isStreaming()) {
      return new Response.Buffered(200, Headers.of("Content-Type", "application/json"), reply.readAll());
    }
    exchange.cancellation().onCancelled(reply::close);
    return new Response.Streaming(
        200,
        Headers.of("Content-Type", "text/event-stream; charset=utf-8"),
        StreamingBody.of(client -> copy(reply, client)));
  }

  private static void copy(Upstream.Reply reply, ByteSink client) throws IOException {
    byte[] buffer = new byte[8 << 10];
    try (reply) {
      for (int n = reply.read(buffer, 0, buffer.length); n >= 0; n = reply.read(buffer, 0, buffer.length)) {
        client.write(buffer, 0, n);
      }
    } catch (IOException | RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IOException(e);
    }
  }
}
