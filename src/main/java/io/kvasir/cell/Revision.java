package io.kvasir.cell;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Tells whether what was derived from workers' {@link Conditions conditions} is still good: who changes one of them
 * says so afterwards, and who derives from them notes the number before it looks. Thread-safe.
 */
final class Revision {
  private final AtomicLong number = new AtomicLong();

  /** Something has changed: the change can be seen by now. */
  void changed() {
    number.incrementAndGet();
  }

  long number() {
    return number.get();
  }
}
