package io.kvasir.cell.worker;

import java.util.concurrent.atomic.AtomicLong;

/**
 * A version number of workers' conditions, for values derived from them: it is incremented after each change, and a
 * value is valid for the number that was read before its inputs were. Thread-safe.
 */
public final class ChangeCounter {
  private final AtomicLong count = new AtomicLong();

  /** Counts a change that is already visible to other threads. */
  void increment() {
    count.incrementAndGet();
  }

  /** The number of changes so far. */
  public long count() {
    return count.get();
  }
}
