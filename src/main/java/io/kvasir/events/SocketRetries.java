package io.kvasir.events;

import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens again, after growing pauses, the sockets of one subscription that could not be opened: want of file descriptors
 * may last. Since the first that could not, something may be missing: the stream counts as behind until that is made up
 * for. Belongs to a loop's thread.
 */
final class SocketRetries {
  private static final Logger LOG = LoggerFactory.getLogger(SocketRetries.class);

  private static final long MIN_PAUSE_MILLIS = 100;
  private static final long MAX_PAUSE_MILLIS = 5_000;

  private final ZmqLoop loop;
  private final Consumer<RuntimeException> onFault;
  private boolean behind;
  private long pauseMillis = MIN_PAUSE_MILLIS;

  /**
   * Nothing to open again.
   *
   * @param fault is called with what nobody reckons with while a socket is opened again
   */
  SocketRetries(ZmqLoop loop, Consumer<RuntimeException> fault) {
    this.loop = loop;
    this.onFault = fault;
  }

  /** Whether a socket could not be opened, and since then something may be missing. */
  boolean isBehind() {
    return behind;
  }

  /** Notes that the stream is behind, and tries again after a pause what has failed. */
  void retryAfter(String endpoint, RuntimeException failed, Runnable retry) {
    String reason = endpoint + ": " + rootCause(failed);
    if (!behind) {
      LOG.warn("an event stream is behind: no socket can be opened to {}; trying again", reason);
      loop.metrics().behind(1);
    }
    behind = true;
    loop.behind(this, reason);
    loop.executeAfter(pauseMillis, retry, onFault);
    pauseMillis = Math.min(MAX_PAUSE_MILLIS, 2 * pauseMillis);
  }

  /** Notes that a socket is open: the next one that is not is tried again soon. */
  void opened() {
    pauseMillis = MIN_PAUSE_MILLIS;
  }

  /** Notes that nothing is missing any more, or that nobody waits for it. */
  void caughtUp() {
    if (behind) {
      behind = false;
      loop.metrics().behind(-1);
      loop.behind(this, null);
    }
  }

  private static String rootCause(Throwable failure) {
    Throwable root = failure;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    return String.valueOf(root.getMessage());
  }
}
