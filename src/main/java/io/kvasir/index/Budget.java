package io.kvasir.index;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The bytes an index may take and those it has taken: every array is entered here before it is made,
 * with its header. An array that replaces another is entered as the difference. Thread-safe, lock-free.
 */
final class Budget {
  private static final int HEADER = 16;

  private final long limit;
  private final AtomicLong taken = new AtomicLong();

  Budget(long limit) {
    this.limit = limit;
  }

  /** The bytes of an array of {@code longs}. */
  static long arrayOf(long longs) {
    return HEADER + longs * Long.BYTES;
  }

  /** Takes {@code bytes} if they are there. */
  boolean take(long bytes) {
    long before = taken.get();
    while (before + bytes <= limit) {
      long seen = taken.compareAndExchange(before, before + bytes);
      if (seen == before) {
        return true;
      }
      before = seen;
    }
    return false;
  }

  void give(long bytes) {
    taken.addAndGet(-bytes);
  }

  long taken() {
    return taken.get();
  }
}
