package io.kvasir.events;

import io.kvasir.time.NanoClock;
import io.nats.client.Connection;
import io.nats.client.Nats;
import io.nats.client.Options;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The NATS connections of event streams, one for each group of servers: workers whose streams they keep share it.
 * Thread-safe.
 */
final class NatsConnections implements SharedTransport {
  private final Map<Server, SharedConnection> connections = new ConcurrentHashMap<>();

  private final NanoClock clock;

  private record Server(String addresses, @Nullable String credentials) {}

  NatsConnections(NanoClock clock) {
    this.clock = clock;
  }

  /** The connection to an endpoint's servers, made when it is first used. */
  NatsTransport.ConnectionSupplier to(NatsEndpoint endpoint) {
    return connections.computeIfAbsent(
        new Server(endpoint.servers(), endpoint.credentials()), server -> new SharedConnection(server, clock))
        ::connection;
  }

  @Override
  public void close() {
    connections.values().forEach(SharedConnection::close);
  }

  /** The connection to one group of servers. */
  private static final class SharedConnection {
    private static final long RETRY_NANOS = Duration.ofMillis(250).toNanos();

    private final Server server;
    private final NanoClock clock;
    private @Nullable Connection connection;
    private @Nullable IOException failure;
    private long failedAt;
    private boolean closed;

    SharedConnection(Server server, NanoClock clock) {
      this.server = server;
      this.clock = clock;
    }

    /**
     * The connection, made if there is none. It reconnects by itself.
     *
     * @throws IOException when there is no connection now
     */
    synchronized Connection connection() throws IOException, InterruptedException {
      if (closed) {
        throw new IOException("closed");
      }
      if (connection == null || connection.getStatus() == Connection.Status.CLOSED) {
        if (failure != null && clock.nanos() - failedAt < RETRY_NANOS) {
          throw failure;
        }
        try {
          connection = Nats.connect(options());
        } catch (IOException e) {
          // The client's message names the servers with their passwords.
          failure = new IOException(NatsEndpoint.withoutPasswords(String.valueOf(e.getMessage())));
          failedAt = clock.nanos();
          throw failure;
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
              // A server that vanished without closing the connection is noticed within half a minute.
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
