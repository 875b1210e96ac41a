package io.kvasir.cell.worker;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Tells whether what was derived from workers' conditions is still good: who changes one of them
 * says so afterwards, and who derives from them notes the number before it looks. Thread-safe.
 */
public final class ChangeCounter {
  private final AtomicLong count = new AtomicLong();

  /** Something has changed: the change can be seen by now. */
  void increment() {
    count.incrementAndGet();
  }

  /** Another one after each change. */
  public long count() {
    return count.get();
  }
}
