package io.kvasir.http.client;

import io.kvasir.http.client.PodException.Kind;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Short exchanges with many pods, whose answers one thread reads. A fleet that is probed and polled takes some hundred
 * a second, and most of the cost of each would be to make, park and wake a thread of its own. Connections are kept as
 * {@link PodClient}'s others are, in a pool of their own. Thread-safe.
 */
final class ShortExchanges implements ExchangeConnection.Owner, AutoCloseable {
  private final PodConnections connections;
  private final IdlePool<ExchangeConnection> pool;
  private final Set<RunningCall> running;
  private final NanoClock clock;
  private final ClientLoop loop = new ClientLoop("pod-exchanges", 1);
  private volatile boolean closed;

  /**
   * Exchanges.
   *
   * @param connections opens them
   * @param running has each exchange until its end, so that its deadline is checked and it can be aborted
   */
  ShortExchanges(
      PodConnections connections, IdlePool<ExchangeConnection> pool, Set<RunningCall> running, NanoClock clock) {
    this.connections = connections;
    this.pool = pool;
    this.running = running;
    this.clock = clock;
  }

  /** Begins an exchange, on a connection that is kept or a new one. Does not wait. */
  CompletableFuture<ShortAnswer> begin(ShortExchange exchange) {
    running.add(exchange);
    var _ = exchange.answer().whenComplete((_, _) -> running.remove(exchange));
    if (closed) {
      exchange.fail(Kind.ABORTED, "", null);
      return exchange.answer();
    }
    ExchangeConnection kept = pooled(exchange.origin());
    while (kept != null && !kept.begin(exchange, clock.nanos())) {
      kept = pooled(exchange.origin());
    }
    if (kept == null) {
      connect(exchange);
    }
    return exchange.answer();
  }

  private @Nullable ExchangeConnection pooled(PodOrigin origin) {
    return pool.acquire(origin, clock.nanos());
  }

  /** Connecting waits, and is rare. */
  private void connect(ShortExchange exchange) {
    Thread.ofVirtual().name("pod-connect").start(() -> {
      ExchangeConnection fresh = null;
      try {
        fresh = new ExchangeConnection(exchange.origin(), this, loop.get());
        if (exchange.attach(fresh)) {
          connections.connect(fresh);
          if (fresh.begin(exchange, clock.nanos())) {
            fresh.resume();
            return;
          }
        }
        exchange.fail(Kind.UNSENT, "closed the connection before it had the request", null);
      } catch (IOException | RuntimeException e) {
        exchange.fail(Kind.CONNECT, "cannot be reached: " + e.getMessage(), e);
      }
      if (fresh != null) {
        fresh.close();
      }
    });
  }

  @Override
  public void release(ExchangeConnection connection) {
    if (closed) {
      connection.close();
    } else {
      pool.release(connection, clock.nanos());
    }
  }

  /** A kept connection may have been closed before the request came: it is sent again, which a GET may be. */
  @Override
  public void interrupted(ShortExchange exchange, ExchangeConnection on, @Nullable IOException how) {
    if (on.isReused() && on.isClean() && exchange.isUnanswered()) {
      connections.requestResent();
      connect(exchange);
    } else {
      exchange.fail(how);
    }
  }

  void closeExpired(long now) {
    pool.expire(now);
  }

  /** Closes idle connections, and ends the reading of the others. */
  @Override
  public void close() {
    closed = true;
    pool.close();
    loop.close();
  }
}
