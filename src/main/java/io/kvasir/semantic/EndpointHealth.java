package io.kvasir.semantic;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Whether an endpoint is worth asking. After {@value #MISSES} calls in a row that failed or were too late it is away,
 * and one call in a while finds out whether it is back: no request waits for what has not come lately. Thread-safe.
 */
final class EndpointHealth {
  private static final int MISSES = 3;

  private final long retryNanos;
  private final LongSupplier nanos;
  private final AtomicLong nextTry = new AtomicLong();
  private volatile int misses;
  private volatile @Nullable String why;

  EndpointHealth(Duration retry, LongSupplier nanos) {
    this.retryNanos = retry.toNanos();
    this.nanos = nanos;
  }

  /** Whether the caller may ask it now. */
  boolean mayAsk() {
    if (misses < MISSES) {
      return true;
    }
    long now = nanos.getAsLong();
    long next = nextTry.get();
    return now - next >= 0 && nextTry.compareAndSet(next, now + retryNanos);
  }

  /** A call was answered in time. */
  void answered() {
    misses = 0;
    why = null;
  }

  /** A call was not. */
  synchronized void missed(String because) {
    if (misses < MISSES) {
      misses++;
    }
    why = because;
    nextTry.set(nanos.getAsLong() + retryNanos);
  }

  /** Why it is away; empty while it is not. */
  Optional<String> away() {
    return misses < MISSES ? Optional.empty() : Optional.ofNullable(why);
  }
}
