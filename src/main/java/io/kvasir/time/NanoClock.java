package io.kvasir.time;

/**
 * A monotonic clock, for waits, expiries and measurements. Code that reads time takes one; tests pass a clock that they
 * set. Thread-safe, without allocation.
 */
@FunctionalInterface
public interface NanoClock {
  /** The clock of this machine: {@link System#nanoTime}. */
  NanoClock SYSTEM = System::nanoTime;

  /** Nanoseconds since an arbitrary moment; meaningful only as a difference to another reading of the same clock. */
  long nanos();
}
