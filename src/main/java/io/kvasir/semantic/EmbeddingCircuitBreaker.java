package io.kvasir.semantic;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Whether an endpoint is worth asking. After {@value #FAILURE_THRESHOLD} calls in a row that failed or were too late it
 * is away, and one call in a while finds out whether it is back: no request waits for what has not come lately.
 * Thread-safe.
 */
final class EmbeddingCircuitBreaker {
  private static final int FAILURE_THRESHOLD = 3;

  private final long retryNanos;
  private final LongSupplier nanos;
  private final AtomicLong nextTry = new AtomicLong();
  private volatile int failures;
  private volatile @Nullable String lastFailure;

  EmbeddingCircuitBreaker(Duration retry, LongSupplier nanos) {
    this.retryNanos = retry.toNanos();
    this.nanos = nanos;
  }

  /** Whether the caller may ask it now. */
  boolean tryAcquire() {
    if (failures < FAILURE_THRESHOLD) {
      return true;
    }
    long now = nanos.getAsLong();
    long next = nextTry.get();
    return now - next >= 0 && nextTry.compareAndSet(next, now + retryNanos);
  }

  /** A call was answered in time. */
  void recordSuccess() {
    failures = 0;
    lastFailure = null;
  }

  /** A call was not. */
  synchronized void recordFailure(String because) {
    if (failures < FAILURE_THRESHOLD) {
      failures++;
    }
    lastFailure = because;
    nextTry.set(nanos.getAsLong() + retryNanos);
  }

  /** Why it is away; empty while it is not. */
  Optional<String> openReason() {
    return failures < FAILURE_THRESHOLD ? Optional.empty() : Optional.ofNullable(lastFailure);
  }
}
