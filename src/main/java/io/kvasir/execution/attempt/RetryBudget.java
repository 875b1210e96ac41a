package io.kvasir.execution.attempt;

import io.kvasir.execution.ExecutionSettings.Retries;
import io.kvasir.time.NanoClock;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Bounds the retries of a node: to a share of its requests, and so many a second besides. When most
 * requests fail, retrying each of them several times is what keeps a fleet down.
 *
 * <p>A bucket in thousandths of a retry: requests and time fill it, retries empty it; it holds what some seconds of
 * time alone would bring, but at least as many retries. Thread-safe.
 */
public final class RetryBudget {
  private static final long RETRY = 1000;

  /** Seconds whose retries the bucket holds. */
  private static final int SECONDS = 10;

  /** The same for streams that are continued: a worker that dies cuts all of its own at once. */
  private static final int RESUME_SECONDS = 100;

  private final int seconds;
  private final NanoClock clock;
  private final long perRequest;
  private final long perSecond;
  private final long capacity;
  private final AtomicLong tokens;
  private final AtomicLong filledAt;

  /** A full budget. */
  public RetryBudget(Retries settings, NanoClock clock) {
    this(settings, SECONDS, clock);
  }

  private RetryBudget(Retries settings, int seconds, NanoClock clock) {
    this.clock = clock;
    this.seconds = seconds;
    perRequest = Math.round(settings.share() * RETRY);
    perSecond = settings.perSecond() * RETRY;
    capacity = perRequest + perSecond == 0 ? 0 : Math.max(perSecond, RETRY) * seconds;
    tokens = new AtomicLong(capacity);
    filledAt = new AtomicLong(clock.nanos());
  }

  /** A full budget for streams that are continued, filled as that for retries. */
  static RetryBudget ofResumes(Retries settings, NanoClock clock) {
    return new RetryBudget(settings, RESUME_SECONDS, clock);
  }

  /** Adds a request's share. Costs one read while the budget is full. */
  void recordRequest() {
    fill(perRequest);
  }

  /** Whether a retry is left, as far as requests and time have been counted. */
  boolean hasRetry() {
    fill();
    return tokens.get() >= RETRY;
  }

  /** Takes a retry; false when none is left. */
  boolean tryAcquire() {
    fill();
    for (long held = tokens.get(); held >= RETRY; held = tokens.get()) {
      if (tokens.compareAndSet(held, held - RETRY)) {
        return true;
      }
    }
    return false;
  }

  /** Adds what time has brought. */
  private void fill() {
    long now = clock.nanos();
    long since = filledAt.get();
    long millis = TimeUnit.NANOSECONDS.toMillis(now - since);
    if (millis > 0 && filledAt.compareAndSet(since, since + TimeUnit.MILLISECONDS.toNanos(millis))) {
      fill(Math.min(millis, seconds * 1000L) * perSecond / 1000);
    }
  }

  /** Gives back a retry that was taken and not made. */
  void release() {
    fill(RETRY);
  }

  private void fill(long added) {
    for (long held = tokens.get(); held < capacity; held = tokens.get()) {
      if (tokens.compareAndSet(held, Math.min(capacity, held + added))) {
        return;
      }
    }
  }
}
