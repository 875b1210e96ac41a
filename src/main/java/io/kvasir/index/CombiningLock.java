package io.kvasir.index;

import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A lock for one writer at a time, to which other threads submit operations without waiting: an operation submitted
 * while the lock is held is queued, and applied by its holder before unlocking (flat combining). Thread-safe.
 *
 * @param <T> the operations
 */
final class CombiningLock<T> {
  /** Operations queued at a time; only a holder in the middle of a very long call could meet more. */
  private static final int MAX_PENDING = 4096;

  private final ReentrantLock lock = new ReentrantLock();
  private final Hold hold = this::unlock;
  private final ConcurrentLinkedQueue<T> pending = new ConcurrentLinkedQueue<>();
  private final AtomicInteger pendingCount = new AtomicInteger();
  private final PendingWork<T> work;

  /** The lock held by the calling thread, until closed. */
  interface Hold extends AutoCloseable {
    @Override
    void close();
  }

  /** The effect of submitted operations. */
  interface PendingWork<T> {
    /** Applies an operation; the calling thread holds the lock. */
    void apply(T operation);

    /** Drops an operation because too many are queued. Any thread, without the lock. */
    void reject(T operation);

    /** Runs before each unlock; the calling thread holds the lock. */
    void beforeUnlock();
  }

  CombiningLock(PendingWork<T> work) {
    this.work = work;
  }

  /** Acquires the lock, waiting for its holder; allocates nothing. */
  Hold acquire() {
    lock.lock();
    return hold;
  }

  /**
   * Applies an operation now, or leaves it to the thread that holds the lock. Never waits. Those of one thread are
   * applied in their order.
   */
  void submit(T operation) {
    if (lock.tryLock()) {
      try {
        applyPending();
        work.apply(operation);
      } finally {
        unlock();
      }
    } else if (pendingCount.incrementAndGet() > MAX_PENDING) {
      pendingCount.decrementAndGet();
      work.reject(operation);
    } else {
      pending.add(operation);
      if (lock.tryLock()) {
        unlock();
      }
    }
  }

  /** Applies the queued operations, then unlocks; again when another was queued in between. */
  private void unlock() {
    do {
      try {
        applyPending();
        work.beforeUnlock();
      } finally {
        lock.unlock();
      }
    } while (!pending.isEmpty() && lock.tryLock());
  }

  private void applyPending() {
    while (pendingCount.get() != 0) {
      T next = pending.poll();
      if (next == null) {
        break; // counted, and about to be added
      }
      pendingCount.decrementAndGet();
      work.apply(next);
    }
  }
}
