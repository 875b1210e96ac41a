package io.kvasir.execution.attempt;

import io.kvasir.execution.ExecutionSettings;
import io.kvasir.time.NanoClock;
import io.kvasir.time.Timer;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The deadlines of one attempt: for the first byte of the response's body, between two of its pieces, and for the
 * whole request. One timer per attempt and none per event: the attempt's thread only notes what it waits for, and the
 * timer's thread compares that with the clock.
 */
final class Deadlines {
  /** {@link #waitingSince} while the attempt does not wait for the pod. */
  private static final long NOT_WAITING = 0;

  private final ExecutionSettings settings;
  private final NanoClock clock;
  private final Timer timer;
  private final long total;
  private final Consumer<AbortReason> onTimeout;

  private long started;
  private volatile boolean cancelled;
  private volatile boolean firstByteReceived;
  private volatile long waitingSince = NOT_WAITING;
  private volatile Timer.@Nullable Timeout timeout;

  /**
   * Deadlines that are not checked before {@link #start}.
   *
   * @param total when the whole request must be over, on the services' clock
   * @param onTimeout receives the deadline that passed, on the timer's thread; must not block
   */
  Deadlines(ExecutionServices services, long total, Consumer<AbortReason> onTimeout) {
    this.settings = services.settings();
    this.clock = services.clock();
    this.timer = services.timer();
    this.total = total;
    this.onTimeout = onTimeout;
  }

  /** Counts from now on. Once. */
  void start() {
    started = clock.nanos();
    waitingSince = started;
    check();
  }

  /** The first byte of the body has arrived, or the body's end. */
  void firstByteReceived() {
    firstByteReceived = true;
  }

  /** The attempt waits for the pod from now on. */
  void awaitingPod() {
    waitingSince = clock.nanos();
  }

  /** The attempt waits for the client, which has no deadline of its own. */
  void awaitingClient() {
    waitingSince = NOT_WAITING;
  }

  /** Ends the checks. Idempotent. */
  void cancel() {
    cancelled = true;
    Timer.Timeout next = timeout;
    if (next != null) {
      next.cancel();
    }
  }

  /** Reports the deadline that has passed, or schedules the next check. */
  private void check() {
    if (cancelled) {
      return;
    }
    long now = clock.nanos();
    long waiting = waitingSince;
    long untilTotal = total - now;
    long limit = (firstByteReceived ? settings.idle() : settings.firstByte()).toNanos();
    long untilNext = firstByteReceived
        ? (waiting == NOT_WAITING ? limit : limit - (now - waiting))
        : limit - (now - started);
    if (untilTotal <= 0) {
      onTimeout.accept(AbortReason.TOTAL_TIMEOUT);
    } else if (untilNext <= 0) {
      onTimeout.accept(firstByteReceived ? AbortReason.IDLE_TIMEOUT : AbortReason.FIRST_BYTE_TIMEOUT);
    } else {
      // Never later than the idle timeout, which may begin to count meanwhile.
      long delay = Math.min(Math.min(untilTotal, untilNext), settings.idle().toNanos());
      timeout = timer.schedule(delay, this::check);
      if (cancelled) {
        // Cancelled meanwhile, with the timeout of the check before.
        Objects.requireNonNull(timeout).cancel();
      }
    }
  }
}
