package io.kvasir.execution;

import java.util.Objects;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One attempt's deadlines: until the first byte of the body, between its pieces, and for the whole request. One
 * timer per attempt and none per event. The running thread tells what it waits for; what is overdue is told from the
 * timer's thread.
 */
final class Deadlines {
  /** {@link #waitingSince} while this side is not waiting for the pod. */
  private static final long NOT_WAITING = 0;

  private final Means means;
  private final long total;
  private final Consumer<Stop> overdue;
  private final long started = System.nanoTime();

  private volatile boolean over;
  private volatile boolean begun;
  private volatile long waitingSince = started;
  private volatile @Nullable Future<?> watch;

  /**
   * Deadlines of an attempt that begins now.
   *
   * @param total when the whole request must be over, in {@link System#nanoTime}
   * @param overdue hears of what is too late; must not block
   */
  Deadlines(Means means, long total, Consumer<Stop> overdue) {
    this.means = means;
    this.total = total;
    this.overdue = overdue;
  }

  /** The first byte of the body is here, or its end. */
  void begun() {
    begun = true;
  }

  /** The pod is waited for from now on. */
  void waiting() {
    waitingSince = System.nanoTime();
  }

  /** The client is waited for, for as long as it takes. */
  void notWaiting() {
    waitingSince = NOT_WAITING;
  }

  /** Nothing is watched any more. Idempotent. */
  void end() {
    over = true;
    Future<?> running = watch;
    if (running != null) {
      running.cancel(false);
    }
  }

  /** Looks at the deadlines, and comes back when the next one is due. */
  void watch() {
    if (over) {
      return;
    }
    ExecutionSettings settings = means.settings();
    long now = System.nanoTime();
    long waiting = waitingSince;
    long untilTotal = total - now;
    long patience = (begun ? settings.idle() : settings.firstByte()).toNanos();
    long untilNext = begun
        ? (waiting == NOT_WAITING ? patience : patience - (now - waiting))
        : patience - (now - started);
    if (untilTotal <= 0) {
      overdue.accept(Stop.TOTAL);
    } else if (untilNext <= 0) {
      overdue.accept(begun ? Stop.IDLE : Stop.FIRST_BYTE);
    } else {
      // Never later than the shorter patience, which may begin to count meanwhile.
      long delay = Math.min(Math.min(untilTotal, untilNext), settings.idle().toNanos());
      watch = means.timer().schedule(this::watch, delay, TimeUnit.NANOSECONDS);
      if (over) {
        // Ended in between, with the future of the round before.
        Objects.requireNonNull(watch).cancel(false);
      }
    }
  }
}
