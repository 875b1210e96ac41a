package io.kvasir.cell.worker;

import io.kvasir.cell.CellSettings.HealthSettings;

/**
 * A worker's circuit: a run of error answers opens it for a while, after which answers decide again. Thread-safe; time
 * comes in, in nanoseconds.
 */
public final class Circuit {
  private final HealthSettings settings;
  private final Revision revision;
  private volatile boolean broken;
  private volatile long brokenUntil;
  private int failures;
  private int successes;

  Circuit(HealthSettings settings, Revision revision) {
    this.settings = settings;
    this.revision = revision;
  }

  /** Whether a run of errors has broken it and answers have not mended it: {@link #passes} then depends on time. */
  public boolean isBroken() {
    return broken;
  }

  /** Whether requests may pass now. One volatile read while all is well. */
  public boolean passes(long now) {
    return !broken || now - brokenUntil >= 0;
  }

  /** An answer came that was not the worker's failure. */
  synchronized void answered() {
    failures = 0;
    if (broken && ++successes >= settings.breakerSuccesses()) {
      broken = false;
      revision.changed();
    }
  }

  /** The worker answered with an error of its own. */
  synchronized void failed(long now) {
    if (broken || ++failures >= settings.breakerFailures()) {
      brokenUntil = now + settings.breakerOpen().toNanos();
      broken = true;
      revision.changed();
      failures = 0;
      successes = 0;
    }
  }
}
