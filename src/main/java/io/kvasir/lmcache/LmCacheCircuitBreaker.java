package io.kvasir.lmcache;

import java.util.function.LongSupplier;

/** Leaves alone who has failed several times in a row, but for one question in a while. Thread-safe. */
final class LmCacheCircuitBreaker {
  /** Failures in a row after which it begins. */
  private static final int FAILURE_THRESHOLD = 3;

  private static final long OPEN_NANOS = 1_000_000_000L;

  private final LongSupplier nanos;
  private int failures;
  private long openUntil;

  LmCacheCircuitBreaker(LongSupplier nanos) {
    this.nanos = nanos;
  }

  /** Whether a question may be asked now. */
  synchronized boolean tryAcquire() {
    if (failures < FAILURE_THRESHOLD) {
      return true;
    }
    long now = nanos.getAsLong();
    if (now - openUntil < 0) {
      return false;
    }
    openUntil = now + OPEN_NANOS;
    return true;
  }

  /** A question was answered, or not. */
  synchronized void record(boolean well) {
    failures = well ? 0 : Math.min(failures + 1, FAILURE_THRESHOLD);
    openUntil = nanos.getAsLong() + OPEN_NANOS;
  }
}
