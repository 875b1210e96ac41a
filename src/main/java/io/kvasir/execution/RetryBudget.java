package io.kvasir.execution;

import io.kvasir.execution.ExecutionSettings.Retries;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * How many retries the fleet is asked to bear: a share of its requests, and so many a second besides. When most
 * requests fail, retrying each of them several times is what keeps a fleet down.
 *
 * <p>A bucket in thousandths of a retry: requests and time fill it, retries empty it; it holds what ten seconds of
 * time alone would bring, but at least ten retries. Thread-safe; time comes in, in nanoseconds.
 */
public final class RetryBudget {
  private static final long RETRY = 1000;
  private static final int SECONDS = 10;

  private final long perRequest;
  private final long perSecond;
  private final long most;
  private final AtomicLong tokens;
  private final AtomicLong filledAt;

  /** A full budget; {@code now} in nanoseconds of any monotonic clock. */
  public RetryBudget(Retries settings, long now) {
    perRequest = Math.round(settings.share() * RETRY);
    perSecond = settings.perSecond() * RETRY;
    most = perRequest + perSecond == 0 ? 0 : Math.max(perSecond, RETRY) * SECONDS;
    tokens = new AtomicLong(most);
    filledAt = new AtomicLong(now);
  }

  /** A request begins. One read while the budget is full. */
  public void recordRequest() {
    fill(perRequest);
  }

  /** Whether there may be a retry; it is taken then. */
  boolean tryAcquire(long now) {
    long since = filledAt.get();
    long millis = TimeUnit.NANOSECONDS.toMillis(now - since);
    if (millis > 0 && filledAt.compareAndSet(since, since + TimeUnit.MILLISECONDS.toNanos(millis))) {
      fill(Math.min(millis, SECONDS * 1000L) * perSecond / 1000);
    }
    for (long there = tokens.get(); there >= RETRY; there = tokens.get()) {
      if (tokens.compareAndSet(there, there - RETRY)) {
        return true;
      }
    }
    return false;
  }

  private void fill(long added) {
    for (long there = tokens.get(); there < most; there = tokens.get()) {
      if (tokens.compareAndSet(there, Math.min(most, there + added))) {
        return;
      }
    }
  }
}
