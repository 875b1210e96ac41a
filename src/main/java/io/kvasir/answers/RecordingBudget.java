package io.kvasir.answers;

import java.util.concurrent.atomic.AtomicLong;

/** The memory that responses in flight may be recorded in. Thread-safe. */
final class RecordingBudget {
  private final long limit;
  private final AnswerMetrics metrics;
  private final AtomicLong reserved = new AtomicLong();

  RecordingBudget(long limit, AnswerMetrics metrics) {
    this.limit = limit;
    this.metrics = metrics;
  }

  /** Reserves bytes; false when that many are not left. */
  boolean tryReserve(int bytes) {
    if (reserved.addAndGet(bytes) > limit) {
      reserved.addAndGet(-bytes);
      return false;
    }
    metrics.recording(bytes);
    return true;
  }

  void release(long bytes) {
    reserved.addAndGet(-bytes);
    metrics.recording(-bytes);
  }
}
