package io.kvasir.execution.attempt;

import io.kvasir.time.NanoClock;
import io.kvasir.time.Timer;
import org.jspecify.annotations.Nullable;

/**
 * The longest time in which nothing passes on a WebSocket. What passes only notes the time; the timer's thread compares
 * it with the clock. A silence that goes on is noticed again whenever it has lasted as long once more.
 */
final class Silence {
  private final long limitNanos;
  private final NanoClock clock;
  private final Timer timer;
  private final Runnable tooLong;
  private volatile long broken;
  private volatile boolean ended;
  private volatile Timer.@Nullable Timeout timeout;

  /** A silence that is not measured before {@link #start}; {@code tooLong} runs on the timer's thread. */
  Silence(ExecutionServices services, Runnable tooLong) {
    this.limitNanos = services.settings().webSocketIdle().toNanos();
    this.clock = services.clock();
    this.timer = services.timer();
    this.tooLong = tooLong;
  }

  /** Begins to measure. Once. */
  void start() {
    broken();
    check();
  }

  /** Something has passed. */
  void broken() {
    broken = clock.nanos();
  }

  /** Ends the measuring. Idempotent. */
  void end() {
    ended = true;
    Timer.Timeout next = timeout;
    if (next != null) {
      next.cancel();
    }
  }

  private void check() {
    if (ended) {
      return;
    }
    long left = limitNanos - (clock.nanos() - broken);
    if (left <= 0) {
      tooLong.run();
      broken();
      left = limitNanos;
    }
    Timer.Timeout next = timer.schedule(left, this::check);
    timeout = next;
    if (ended) {
      next.cancel();
    }
  }
}
