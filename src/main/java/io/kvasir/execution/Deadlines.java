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

  private final ExecutionServices services;
  private final long total;
  private final Consumer<AbortReason> onTimeout;
  private final long started = System.nanoTime();

  private volatile boolean cancelled;
  private volatile boolean firstByteReceived;
  private volatile long waitingSince = started;
  private volatile @Nullable Future<?> watch;

  /**
   * Deadlines of an attempt that begins now.
   *
   * @param total when the whole request must be over, in {@link System#nanoTime}
   * @param overdue hears of what is too late; must not block
   */
  Deadlines(ExecutionServices means, long total, Consumer<AbortReason> overdue) {
    this.services = means;
    this.total = total;
    this.onTimeout = overdue;
  }

  /** The first byte of the body is here, or its end. */
  void firstByteReceived() {
    firstByteReceived = true;
  }

  /** The pod is waited for from now on. */
  void awaitingPod() {
    waitingSince = System.nanoTime();
  }

  /** The client is waited for, for as long as it takes. */
  void awaitingClient() {
    waitingSince = NOT_WAITING;
  }

  /** Nothing is watched any more. Idempotent. */
  void cancel() {
    cancelled = true;
    Future<?> running = watch;
    if (running != null) {
      running.cancel(false);
    }
  }

  /** Looks at the deadlines, and comes back when the next one is due. */
  void check() {
    if (cancelled) {
      return;
    }
    ExecutionSettings settings = services.settings();
    long now = System.nanoTime();
    long waiting = waitingSince;
    long untilTotal = total - now;
    long patience = (firstByteReceived ? settings.idle() : settings.firstByte()).toNanos();
    long untilNext = firstByteReceived
        ? (waiting == NOT_WAITING ? patience : patience - (now - waiting))
        : patience - (now - started);
    if (untilTotal <= 0) {
      onTimeout.accept(AbortReason.TOTAL_TIMEOUT);
    } else if (untilNext <= 0) {
      onTimeout.accept(firstByteReceived ? AbortReason.IDLE_TIMEOUT : AbortReason.FIRST_BYTE_TIMEOUT);
    } else {
      // Never later than the shorter patience, which may begin to count meanwhile.
      long delay = Math.min(Math.min(untilTotal, untilNext), settings.idle().toNanos());
      watch = services.timer().schedule(this::check, delay, TimeUnit.NANOSECONDS);
      if (cancelled) {
        // Ended in between, with the future of the round before.
        Objects.requireNonNull(watch).cancel(false);
      }
    }
  }
}
