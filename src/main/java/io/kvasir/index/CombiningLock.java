package io.kvasir.index;

import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Whose turn it is to write what a worker holds: one thread's at a time. Who predicts never waits for it: what comes
 * while something else is being written is left behind, and done by whoever is writing before he lets go. Thread-safe.
 */
final class CombiningLock {
  /** Predictions left behind at a time: a writer in the middle of its longest call would have to meet more. */
  private static final int MAX_PENDING = 4096;

  private final ReentrantLock lock = new ReentrantLock();
  private final ConcurrentLinkedQueue<Prediction> pending = new ConcurrentLinkedQueue<>();
  private final AtomicInteger pendingCount = new AtomicInteger();
  private final PendingWork work;

  /** What is to be done with predictions. */
  interface PendingWork {
    /** Places one, or takes it back. In the turn of the thread that calls. */
    void apply(Prediction prediction);

    /** There are too many to remember this one. Any thread. */
    void reject(Prediction prediction);

    /** The turn is about to end. */
    void beforeUnlock();
  }

  CombiningLock(PendingWork work) {
    this.work = work;
  }

  /** Waits for the turn. */
  void lock() {
    lock.lock();
  }

  /** Lets the next writer in, and before that does what was left behind. */
  void unlock() {
    do {
      try {
        drain();
      } finally {
        lock.unlock();
      }
    } while (!pending.isEmpty() && lock.tryLock());
  }

  /** Has a prediction placed, or taken back: now, or when the call that is writing is over. Never waits. */
  void submit(Prediction prediction) {
    if (lock.tryLock()) {
      try {
        work.apply(prediction);
      } finally {
        unlock();
      }
    } else if (pendingCount.incrementAndGet() > MAX_PENDING) {
      pendingCount.decrementAndGet();
      work.reject(prediction);
    } else {
      pending.add(prediction);
      if (lock.tryLock()) {
        unlock();
      }
    }
  }

  private void drain() {
    while (pendingCount.get() != 0) {
      Prediction next = pending.poll();
      if (next == null) {
        break; // counted, and about to be added
      }
      pendingCount.decrementAndGet();
      work.apply(next);
    }
    work.beforeUnlock();
  }
}
