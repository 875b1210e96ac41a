package io.kvasir.http.server;

import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The end of a server's connections and of the exchanges on them. Thread-safe. */
final class Drain {
  private static final Logger LOG = LoggerFactory.getLogger(Drain.class);

  /** How long clients of connections that have left HTTP may take for an orderly end after the grace. */
  private static final long SHUT_DOWN_NANOS = 1_000_000_000L;

  /** How long exchanges that were cut may take to end. */
  private static final long CUT_EXCHANGES_NANOS = 5_000_000_000L;

  private final OpenConnections connections;
  private final NanoClock clock;
  private final AtomicInteger running = new AtomicInteger();

  private volatile boolean begun;

  /** Not begun. */
  Drain(OpenConnections connections, NanoClock clock) {
    this.connections = connections;
    this.clock = clock;
  }

  /** Whether new requests are refused. */
  boolean hasBegun() {
    return begun;
  }

  void exchangeStarted() {
    running.incrementAndGet();
  }

  void exchangeEnded() {
    running.decrementAndGet();
  }

  /** Exchanges whose handler works for them now. */
  int runningExchanges() {
    return running.get();
  }

  /**
   * Begins, and closes the connections that are older than this as they become idle, until there are none or
   * {@code grace} is over. Blocks.
   */
  void letFinish(Duration grace) {
    begun = true;
    long end = clock.nanos() + grace.toNanos();
    try {
      while (olderThanDrain() > 0 && clock.nanos() - end < 0) {
        connections.forEach(ClientConnection::closeIfIdle);
        Thread.sleep(10);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Closes the other connections, those that have left HTTP in an orderly way if their clients allow it. Blocks. */
  void closeRemaining() {
    closeUpgraded();
    int remaining = olderThanDrain();
    if (remaining > 0) {
      LOG.info("Closing {} connections that did not end in time", remaining);
    }
    connections.forEach(ClientConnection::abort);
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

  /** Waits for the exchanges that were cut to release what they hold, for a few seconds at most. Blocks. */
  void awaitExchanges() {
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
}
