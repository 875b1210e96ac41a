package io.kvasir.cell;

import io.kvasir.cell.CellSettings.HealthSettings;
import io.kvasir.cell.WorkerStatus.Health;

/**
 * Whether requests may go to a worker, from what probes and answers tell. A refused or cut connection
 * takes it out at once and the next contact brings it back; a run of error answers opens its circuit
 * for a while, after which answers decide again. Thread-safe; time comes in, in nanoseconds.
 */
final class WorkerHealth {
  private final HealthSettings settings;
  private volatile Health contact = Health.UNKNOWN;
  private volatile boolean broken;
  private volatile long brokenUntil;
  private int failures;
  private int successes;
  private int failedProbes;

  WorkerHealth(HealthSettings settings) {
    this.settings = settings;
  }

  /** Whether requests may go there now. Two volatile reads while all is well. */
  boolean routable(long now) {
    return contact == Health.HEALTHY && (!broken || now - brokenUntil >= 0);
  }

  Health state(long now) {
    return contact == Health.HEALTHY && !routable(now) ? Health.UNHEALTHY : contact;
  }

  /** A probe's answer. A worker that has been well is given a second probe before it is taken out. */
  synchronized void probed(boolean well) {
    if (well) {
      failedProbes = 0;
      contact = Health.HEALTHY;
    } else if (++failedProbes >= 2 || contact != Health.HEALTHY) {
      contact = Health.UNHEALTHY;
    }
  }

  /** An answer came that was not the worker's failure. */
  synchronized void answered() {
    failures = 0;
    contact = Health.HEALTHY;
    if (broken && ++successes >= settings.breakerSuccesses()) {
      broken = false;
    }
  }

  /** The connection was refused, reset or cut. */
  synchronized void lostContact() {
    contact = Health.UNHEALTHY;
  }

  /** The worker answered with an error of its own. */
  synchronized void failed(long now) {
    if (broken || ++failures >= settings.breakerFailures()) {
      broken = true;
      brokenUntil = now + settings.breakerOpen().toNanos();
      failures = 0;
      successes = 0;
    }
  }

  /** What probes and answers said last, whatever the circuit. */
  Health contact() {
    return contact;
  }

  /** Whether the circuit is open or has not closed again yet. */
  boolean broken() {
    return broken;
  }
}
