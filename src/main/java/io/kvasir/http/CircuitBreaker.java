package io.kvasir.http;

import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * A circuit breaker in front of a service that may fail. Consecutive failures open it, for a time. After that it is
 * half-open: trial calls find out whether the service works, and their outcome closes it or opens it again.
 *
 * <p>A caller calls {@link #tryAcquire} before a call and reports the outcome afterwards. A half-open circuit admits
 * one trial per open time: a trial whose outcome is never reported delays the next one and no more. A caller that
 * chooses among many services calls {@link #permits} instead, which admits every call while the circuit is half-open.
 *
 * <p>Thread-safe and lock-free. While the circuit is closed and calls succeed, each method is one volatile read without
 * allocation, and the clock is not read.
 */
public final class CircuitBreaker {
  private static final AtomicReferenceFieldUpdater<CircuitBreaker, Circuit> CIRCUIT =
      AtomicReferenceFieldUpdater.newUpdater(CircuitBreaker.class, Circuit.class, "circuit");

  private final Settings settings;
  private final NanoClock clock;
  private volatile Circuit circuit = Circuit.CLOSED;

  /** What a circuit breaker does with calls. */
  public enum State {
    /** All calls pass. */
    CLOSED,
    /** No call passes. */
    OPEN,
    /** The open time is over, or a trial is under way. */
    HALF_OPEN
  }

  /**
   * When a circuit opens, and for how long.
   *
   * @param failureThreshold consecutive failures that open the circuit, at least 1
   * @param openTime how long it stays open, at first
   * @param maxOpenTime how long at most: the time doubles with every trial that fails
   * @param successThreshold successes that close it again, at least 1
   */
  public record Settings(int failureThreshold, Duration openTime, Duration maxOpenTime, int successThreshold) {
    /** Settings of a circuit that is always open for the same time, and that one success closes. */
    public static Settings of(int failureThreshold, Duration openTime) {
      return new Settings(failureThreshold, openTime, openTime, 1);
    }
  }

  /**
   * The circuit at one moment. Immutable.
   *
   * @param failures consecutive ones while the circuit is closed
   * @param successes since it opened
   * @param openNanos how long it is open this time
   * @param nextTrial time of the clock from which the next trial may begin
   * @param onTrial whether a trial has begun whose outcome is unknown
   * @param reason of the latest failure
   */
  private record Circuit(
      boolean open, int failures, int successes, long openNanos, long nextTrial, boolean onTrial,
      @Nullable String reason) {
    static final Circuit CLOSED = new Circuit(false, 0, 0, 0, 0, false, null);

    static Circuit closed(int failures, String reason) {
      return new Circuit(false, failures, 0, 0, 0, false, reason);
    }

    static Circuit open(long openNanos, long now, String reason) {
      return new Circuit(true, 0, 0, openNanos, now + openNanos, false, reason);
    }

    Circuit withTrial(long now) {
      return new Circuit(true, 0, successes, openNanos, now + openNanos, true, reason);
    }

    /** After a success that is not enough: where a trial succeeded, the next may begin at once. */
    Circuit withSuccess(long now) {
      return new Circuit(true, 0, successes + 1, openNanos, onTrial ? now : nextTrial, false, reason);
    }

    boolean isDue(long now) {
      return now - nextTrial >= 0;
    }
  }

  /** A closed circuit that measures its open time by {@code clock}. */
  public CircuitBreaker(Settings settings, NanoClock clock) {
    this.settings = settings;
    this.clock = clock;
  }

  /** The circuit's state now. */
  public State state() {
    Circuit current = circuit;
    return !current.open ? State.CLOSED
        : current.onTrial || current.isDue(clock.nanos()) ? State.HALF_OPEN
        : State.OPEN;
  }

  /** Whether the circuit is closed; otherwise what passes depends on time. */
  public boolean isClosed() {
    return !circuit.open;
  }

  /** The reason of the latest failure while the circuit is open or half-open; empty while it is closed. */
  public Optional<String> openReason() {
    Circuit current = circuit;
    return current.open ? Optional.ofNullable(current.reason) : Optional.empty();
  }

  /** Whether the circuit is closed or half-open. Counts no trial: every call passes while it is half-open. */
  public boolean permits() {
    Circuit current = circuit;
    return !current.open || current.isDue(clock.nanos());
  }

  /** Whether the caller may call the service now: the circuit is closed, or this call is the trial. */
  public boolean tryAcquire() {
    while (true) {
      Circuit current = circuit;
      if (!current.open) {
        return true;
      }
      long now = clock.nanos();
      if (!current.isDue(now)) {
        return false;
      }
      if (CIRCUIT.compareAndSet(this, current, current.withTrial(now))) {
        return true;
      }
    }
  }

  /** Reports a call that succeeded. Returns whether that has closed the circuit. */
  public boolean onSuccess() {
    while (true) {
      Circuit current = circuit;
      if (current.equals(Circuit.CLOSED)) {
        return false;
      }
      Circuit next =
          current.open && current.successes + 1 < settings.successThreshold
              ? current.withSuccess(clock.nanos())
              : Circuit.CLOSED;
      if (CIRCUIT.compareAndSet(this, current, next)) {
        return current.open && !next.open;
      }
    }
  }

  /**
   * Reports a call that failed. While the circuit is open, a failure of an earlier call begins the open time again.
   *
   * @param reason of the failure, for people
   * @return whether that has opened a circuit that was closed
   */
  public boolean onFailure(String reason) {
    while (true) {
      Circuit current = circuit;
      Circuit next;
      if (current.open) {
        long now = clock.nanos();
        next = Circuit.open(current.onTrial || current.isDue(now) ? longer(current.openNanos) : current.openNanos, now,
            reason);
      } else if (current.failures + 1 < settings.failureThreshold) {
        next = Circuit.closed(current.failures + 1, reason);
      } else {
        next = Circuit.open(settings.openTime.toNanos(), clock.nanos(), reason);
      }
      if (CIRCUIT.compareAndSet(this, current, next)) {
        return !current.open && next.open;
      }
    }
  }

  /** Closes the circuit: what failed is not there any more. */
  public void reset() {
    circuit = Circuit.CLOSED;
  }

  private long longer(long openNanos) {
    return Math.min(2 * openNanos, settings.maxOpenTime.toNanos());
  }
}
