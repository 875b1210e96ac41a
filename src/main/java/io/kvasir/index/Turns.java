package io.kvasir.index;

import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Whose turn it is to write what a worker holds: one thread's at a time. Who predicts never waits for it: what comes
 * while something else is being written is left behind, and done by whoever is writing before he lets go. Thread-safe.
 */
final class Turns {
  /** Predictions left behind at a time: a writer in the middle of its longest call would have to meet more. */
  private static final int MOST_WAITING = 4096;

  private final ReentrantLock writing = new ReentrantLock();
  private final ConcurrentLinkedQueue<Prediction> waiting = new ConcurrentLinkedQueue<>();
  private final AtomicInteger waitingCount = new AtomicInteger();
  private final Work work;

  /** What is to be done with predictions. */
  interface Work {
    /** Places one, or takes it back. In the turn of the thread that calls. */
    void does(Prediction prediction);

    /** There are too many to remember this one. Any thread. */
    void refuses(Prediction prediction);

    /** The turn is about to end. */
    void ends();
  }

  Turns(Work work) {
    this.work = work;
  }

  /** Waits for the turn. */
  void take() {
    writing.lock();
  }

  /** Lets the next writer in, and before that does what was left behind. */
  void give() {
    do {
      try {
        workOff();
      } finally {
        writing.unlock();
      }
    } while (!waiting.isEmpty() && writing.tryLock());
  }

  /** Has a prediction placed, or taken back: now, or when the call that is writing is over. Never waits. */
  void leave(Prediction prediction) {
    if (writing.tryLock()) {
      try {
        work.does(prediction);
      } finally {
        give();
      }
    } else if (waitingCount.incrementAndGet() > MOST_WAITING) {
      waitingCount.decrementAndGet();
      work.refuses(prediction);
    } else {
      waiting.add(prediction);
      if (writing.tryLock()) {
        give();
      }
    }
  }

  private void workOff() {
    while (waitingCount.get() != 0) {
      Prediction next = waiting.poll();
      if (next == null) {
        break; // counted, and about to be added
      }
      waitingCount.decrementAndGet();
      work.does(next);
    }
    work.ends();
  }
}
