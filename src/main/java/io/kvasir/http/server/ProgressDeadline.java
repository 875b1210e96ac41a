package io.kvasir.http.server;

import io.kvasir.time.NanoClock;
import org.jspecify.annotations.Nullable;

/**
 * How long a client may take for one thing, in total and without progress. It is looked at now and then, and notices
 * progress only then: so a client's segments cost no reading of a clock and no timer. Thread-safe.
 */
final class ProgressDeadline {
  private static final long SECOND_NANOS = 1_000_000_000L;

  private final NanoClock clock;

  // Guarded by this.
  private boolean running;
  private long began;
  private Limits limits = Limits.total(0);
  private long bytes;
  private long bytesSeen;
  private long progressed;

  /**
   * What a client may take.
   *
   * @param total nanoseconds
   * @param stall nanoseconds without a byte
   * @param bytesPerSecond each so many bytes that have come or gone prolong the total by a second; 0 for none
   */
  record Limits(long total, long stall, long bytesPerSecond) {
    /** A total that nothing prolongs. */
    static Limits total(long nanos) {
      return new Limits(nanos, nanos, 0);
    }
  }

  /**
   * What a client has taken.
   *
   * @param stalled whether it was too long without a byte; otherwise in total
   * @param nanos how long
   * @param most how long it may
   */
  record Excess(boolean stalled, long nanos, long most) {}

  ProgressDeadline(NanoClock clock) {
    this.clock = clock;
  }

  /** Begins, in place of what was going on. */
  synchronized void start(Limits next) {
    running = true;
    began = clock.nanos();
    limits = next;
    bytes = 0;
    bytesSeen = 0;
    progressed = began;
  }

  /** Ends: nothing is waited for. */
  synchronized void stop() {
    running = false;
  }

  /** Notes progress. */
  synchronized void progress(int count) {
    bytes += count;
  }

  /** Nanosecond clock when it began. */
  synchronized long began() {
    return began;
  }

  /** By what the client has taken longer than it may; null when it has not. */
  synchronized @Nullable Excess excess(long now) {
    if (!running) {
      return null;
    }
    if (bytes != bytesSeen) {
      bytesSeen = bytes;
      progressed = now;
    }
    long earned = limits.bytesPerSecond == 0 ? 0 : bytes / limits.bytesPerSecond * SECOND_NANOS;
    if (now - progressed > limits.stall && limits.stall < limits.total) {
      return new Excess(true, now - progressed, limits.stall);
    }
    long most = limits.total + earned;
    return now - began > most || now - progressed > limits.stall ? new Excess(false, now - began, most) : null;
  }
}
