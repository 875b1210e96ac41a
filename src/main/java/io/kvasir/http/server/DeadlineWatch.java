package io.kvasir.http.server;

import io.kvasir.http.MemoryBudget;
import io.kvasir.telemetry.RedactedException;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Looks now and then at the deadlines of all connections and of the requests that wait for memory. Thread-safe. */
final class DeadlineWatch {
  private static final Logger LOG = LoggerFactory.getLogger(DeadlineWatch.class);

  private final OpenConnections connections;
  private final MemoryBudget memory;
  private final NanoClock clock;
  private final Duration tick;
  private final Duration rest;
  private final Thread thread;

  DeadlineWatch(HttpSettings.Timeouts timeouts, OpenConnections connections, MemoryBudget memory, NanoClock clock) {
    this.connections = connections;
    this.memory = memory;
    this.clock = clock;
    // Often enough for the shortest time limit, and not more than that.
    this.tick = Duration.ofMillis(Math.clamp(timeouts.shortest().toMillis() / 4, 10, 250));
    // While nothing is open: what is opened meanwhile has more time than that.
    this.rest = Duration.ofMillis(Math.clamp(timeouts.shortest().toMillis(), 10, 1_000));
    this.thread = Thread.ofVirtual().name("http-deadlines").unstarted(this::watch);
  }

  void start() {
    thread.start();
  }

  /** Has it end; does not wait for that. */
  void stop() {
    thread.interrupt();
  }

  private void watch() {
    try {
      while (true) {
        Thread.sleep(connections.count() == 0 ? rest : tick);
        long now = clock.nanos();
        for (ClientConnection connection : connections) {
          check(connection, now);
        }
        memory.endWaits();
      }
    } catch (InterruptedException e) {
      // Stopped.
      Thread.currentThread().interrupt();
    }
  }

  private static void check(ClientConnection connection, long now) {
    try {
      connection.checkDeadlines(now);
    } catch (RuntimeException | Error e) {
      // The others' deadlines are still to be kept.
      LOG.error("Checking the deadlines of a connection from {} failed", connection.client(), RedactedException.of(e));
      connection.abort();
    }
  }
}
