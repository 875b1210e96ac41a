package io.kvasir.time;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/** A clock that stands still until a test moves it. Thread-safe. */
public final class ManualClock implements NanoClock {
  private final AtomicLong nanos = new AtomicLong(1_000_000_000L);
  private final AtomicLong readings = new AtomicLong();

  @Override
  public long nanos() {
    readings.incrementAndGet();
    return nanos.get();
  }

  /** How often the clock was read: tells a test that something which reads it regularly has done so since. */
  public long readings() {
    return readings.get();
  }

  public void advance(Duration by) {
    nanos.addAndGet(by.toNanos());
  }
}
