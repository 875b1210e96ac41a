package io.kvasir.http.server;

import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/** Pekko's stream of a connection, which begins after the connection and may end before it. Thread-safe. */
final class ConnectionStream {
  private final CountDownLatch begun = new CountDownLatch(1);
  private volatile @Nullable InboundStream inbound;

  // Guarded by this.
  private boolean stopped;
  private @Nullable Runnable onStopped;

  /** The stream's inbound side; null before it has begun, and once it has ended. */
  @Nullable InboundStream inbound() {
    return inbound;
  }

  /** Notes that it has begun. */
  void started(InboundStream stream) {
    inbound = stream;
    begun.countDown();
  }

  /** Waits until it has begun, or ended without. */
  void awaitStart() throws InterruptedException {
    begun.await();
  }

  /** Notes that it has ended, and writes nothing any more. */
  void stopped() {
    inbound = null;
    begun.countDown();
    Runnable action;
    synchronized (this) {
      stopped = true;
      action = onStopped;
      onStopped = null;
    }
    if (action != null) {
      action.run();
    }
  }

  /** Runs {@code action}, in place of an earlier one, once it has ended; at once if it has. */
  void onStopped(Runnable action) {
    synchronized (this) {
      if (!stopped) {
        onStopped = action;
        return;
      }
    }
    action.run();
  }
}
