package io.kvasir.execution.stream;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The memory that all streams of a node may take together for their texts, kept so that they can be continued, and for
 * events that are held until they are whole. Thread-safe.
 */
public final class TextBudget {
  private final long limit;
  private final AtomicLong used = new AtomicLong();

  /** A budget of so many bytes. */
  public TextBudget(long limit) {
    this.limit = limit;
  }

  /** Bytes that are taken now. */
  public long used() {
    return used.get();
  }

  boolean tryTake(int bytes) {
    if (used.addAndGet(bytes) <= limit) {
      return true;
    }
    give(bytes);
    return false;
  }

  void give(long bytes) {
    used.addAndGet(-bytes);
  }
}
