package io.kvasir.execution.attempt;

import io.kvasir.execution.ExecutionSettings;
import io.kvasir.time.NanoClock;
import io.kvasir.time.Timer;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The deadlines of one attempt: for the first byte of the response's body, between two of its pieces, and for the
 * whole request; and a shorter one for silence while the worker is out of service. One timer per attempt and none per
 * event: the attempt's thread only notes what it waits for, and the timer's thread compares that with the clock.
 */
final class Deadlines {
  /** {@link #waitingSince} while the attempt does not wait for the pod. */
  private static final long NOT_WAITING = 0;

  /** How often it is asked whether a request is to leave a worker that has been silent for so long. */
  private static final long RESCUE_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(2);

  private final ExecutionSettings settings;
  /** {@link Long#MAX_VALUE} where there is no such limit. */
  private final long strandedNanos;
  private final NanoClock clock;
  private final Timer timer;
  private final long total;
  private final BooleanSupplier leaves;
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
   * @param leaves whether a request of which nothing has come for long is to leave its worker; asked on the timer's
   *     thread, until it is; must not block
   * @param onTimeout receives the deadline that passed, on the timer's thread; must not block
   */
  Deadlines(ExecutionServices services, long total, BooleanSupplier leaves, Consumer<AbortReason> onTimeout) {
    this.settings = services.settings();
    Duration stranded = settings.stranded();
    this.strandedNanos = stranded == null ? Long.MAX_VALUE : stranded.toNanos();
    this.clock = services.clock();
    this.timer = services.timer();
    this.total = total;
    this.leaves = leaves;
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
    long silent = !firstByteReceived ? now - started : waiting == NOT_WAITING ? 0 : now - waiting;
    long untilNext = (firstByteReceived ? settings.idle() : settings.firstByte()).toNanos() - silent;
    if (untilTotal <= 0) {
      onTimeout.accept(AbortReason.TOTAL_TIMEOUT);
    } else if (untilNext <= 0) {
      onTimeout.accept(firstByteReceived ? AbortReason.IDLE_TIMEOUT : AbortReason.FIRST_BYTE_TIMEOUT);
    } else if (silent >= strandedNanos && leaves.getAsBoolean()) {
      onTimeout.accept(AbortReason.STRANDED);
    } else {
      // Never later than the idle timeout, which may begin to count meanwhile.
      long untilRescue = silent < strandedNanos ? strandedNanos - silent : RESCUE_PAUSE_NANOS;
      long delay = Math.min(Math.min(untilTotal, untilNext), Math.min(settings.idle().toNanos(), untilRescue));
      timeout = timer.schedule(delay, this::check);
      if (cancelled) {
        // Cancelled meanwhile, with the timeout of the check before.
        Objects.requireNonNull(timeout).cancel();
      }
    }
  }
}
