package io.kvasir.index;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The bytes an index may take and those it has taken: every array is entered here before it is made,
 * with its header. An array that replaces another is entered as the difference. Thread-safe, lock-free.
 */
final class Budget {
  private static final int HEADER = 16;

  private final long limit;
  private final AtomicLong used = new AtomicLong();

  Budget(long limit) {
    this.limit = limit;
  }

  /** The bytes of an array of {@code longs}. */
  static long arrayOf(long longs) {
    return HEADER + longs * Long.BYTES;
  }

  /** Takes {@code bytes} if they are there. */
  boolean reserve(long bytes) {
    long before = used.get();
    while (before + bytes <= limit) {
      long seen = used.compareAndExchange(before, before + bytes);
      if (seen == before) {
        return true;
      }
      before = seen;
    }
    return false;
  }

  void release(long bytes) {
    used.addAndGet(-bytes);
  }

  long used() {
    return used.get();
  }
}
