package io.kvasir.time;

/**
 * The monotonic clock of everything that waits, expires or is measured. Code that reads time takes one; tests hand in a
 * clock that they move. Thread-safe, without allocation.
 */
@FunctionalInterface
public interface NanoClock {
  /** The clock of this machine: {@link System#nanoTime}. */
  NanoClock SYSTEM = System::nanoTime;

  /** Nanoseconds since an arbitrary moment; meaningful only as a difference to another reading of the same clock. */
  long nanos();
}
