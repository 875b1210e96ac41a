package io.kvasir.index;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The memory budget of an index: every array is reserved here, with its header, before it is allocated; an array that
 * replaces another reserves the difference. Thread-safe, lock-free.
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

  /** Reserves {@code bytes} if the limit allows it. */
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
