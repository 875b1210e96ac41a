package io.kvasir.cell.worker;

import io.kvasir.cell.CellSettings.HealthSettings;

/**
 * A worker's circuit: a run of error answers opens it for a while, after which answers decide again. Thread-safe; time
 * comes in, in nanoseconds.
 */
public final class CircuitBreaker {
  private final HealthSettings settings;
  private final ChangeCounter changes;
  private volatile boolean tripped;
  private volatile long openUntil;
  private int failures;
  private int successes;

  CircuitBreaker(HealthSettings settings, ChangeCounter revision) {
    this.settings = settings;
    this.changes = revision;
  }

  /** Whether a run of errors has broken it and answers have not mended it: {@link #permits} then depends on time. */
  public boolean isTripped() {
    return tripped;
  }

  /** Whether requests may pass now. One volatile read while all is well. */
  public boolean permits(long now) {
    return !tripped || now - openUntil >= 0;
  }

  /** An answer came that was not the worker's failure. */
  synchronized void onSuccess() {
    failures = 0;
    if (tripped && ++successes >= settings.breakerSuccesses()) {
      tripped = false;
      changes.increment();
    }
  }

  /** The worker answered with an error of its own. */
  synchronized void onFailure(long now) {
    if (tripped || ++failures >= settings.breakerFailures()) {
      openUntil = now + settings.breakerOpen().toNanos();
      tripped = true;
      changes.increment();
      failures = 0;
      successes = 0;
    }
  }
}
