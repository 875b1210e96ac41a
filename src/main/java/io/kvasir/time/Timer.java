package io.kvasir.time;

/** Runs actions after a delay, such as those that keep deadlines. Thread-safe; the actions must not block. */
@FunctionalInterface
public interface Timer {
  /** An action that is due later. */
  @FunctionalInterface
  interface Timeout {
    /** Keeps the action from running, unless it has begun. Idempotent. */
    void cancel();
  }

  /** Runs {@code action} once, {@code delayNanos} nanoseconds from now. */
  Timeout schedule(long delayNanos, Runnable action);
}
