package io.kvasir.events;

import io.nats.client.Connection;
import io.nats.client.Nats;
import io.nats.client.Options;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Event streams kept by NATS JetStream, one subject a worker. A message's payload is a batch, msgpack or JSON; its
 * number is the engine's where the header {@value #SEQUENCE} (or the JSON's {@code seq}) tells it, else JetStream's
 * own where the stream holds nothing but this subject; else there is none, and then losses before JetStream, or
 * through its limits, go unseen.
 *
 * <p>Each worker is read by a virtual thread that pulls, so a slow reader leaves messages where they are. Workers
 * on the same servers share a connection. Thread-safe; whoever makes it closes it, which ends every stream.
 */
public final class NatsEvents implements AutoCloseable {
  /** Header with the engine's own number of a message. */
  public static final String SEQUENCE = "Kvasir-Sequence";

  private final Map<Server, SharedConnection> connections = new ConcurrentHashMap<>();
  private final Pullers pullers;

  private record Server(String addresses, @Nullable String credentials) {}

  /** Connects to nothing yet. */
  public NatsEvents(EventMetrics metrics) {
    this.pullers = new Pullers(metrics.of("nats"));
  }

  /** A worker's events. Nothing is connected before the source is run. */
  public EventSource source(NatsEndpoint place) {
    return pullers.source(
        place.subject() + " at " + withoutPasswords(place.servers()),
        () -> new NatsTransport(place, link(place)::connection));
  }

  private SharedConnection link(NatsEndpoint place) {
    return connections.computeIfAbsent(new Server(place.servers(), place.credentials()), SharedConnection::new);
  }

  private static String withoutPasswords(String servers) {
    return servers.replaceAll("//[^/@,]*@", "//");
  }

  @Override
  public void close() {
    pullers.end();
    connections.values().forEach(SharedConnection::close);
  }

  /** The one connection to a group of servers. */
  private static final class SharedConnection {
    private static final long RETRY_NANOS = Duration.ofMillis(250).toNanos();

    private final Server server;
    private @Nullable Connection connection;
    private @Nullable IOException failure;
    private long failedAt;
    private boolean closed;

    SharedConnection(Server server) {
      this.server = server;
    }

    /**
     * The connection, made if there is none. It reconnects by itself.
     *
     * @throws IOException when it is not there now
     */
    synchronized Connection connection() throws IOException, InterruptedException {
      if (closed) {
        throw new IOException("closed");
      }
      if (connection == null || connection.getStatus() == Connection.Status.CLOSED) {
        if (failure != null && System.nanoTime() - failedAt < RETRY_NANOS) {
          throw failure;
        }
        try {
          connection = Nats.connect(options());
        } catch (IOException e) {
          failure = e;
          failedAt = System.nanoTime();
          throw e;
        }
      }
      if (connection.getStatus() != Connection.Status.CONNECTED) {
        throw new IOException("not connected: " + connection.getStatus());
      }
      return connection;
    }

    private Options options() {
      Options.Builder options =
          new Options.Builder()
              .servers(server.addresses().split("\\s*,\\s*"))
              .connectionName("kvasir-events")
              .connectionTimeout(Duration.ofSeconds(2))
              .reconnectWait(Duration.ofMillis(250))
              .maxReconnects(-1)
              // A server that vanished without a word is noticed within half a minute.
              .pingInterval(Duration.ofSeconds(10))
              .maxPingsOut(2)
              .errorListener(new NatsErrors());
      if (server.credentials() != null) {
        options.authHandler(Nats.credentials(server.credentials()));
      }
      return options.build();
    }

    synchronized void close() {
      closed = true;
      if (connection != null) {
        try {
          connection.close();
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
        }
      }
    }
  }
}
