package io.kvasir.admission;

import java.util.Locale;

/** What a request waits for. */
public enum HoldReason {
  /** Its turn: it was not tried since it came. */
  TURN,
  /** A worker with less work queued: the bound of its class. */
  BUSY,
  /** A place at a worker: all have as many requests as they take. */
  FULL,
  /** A place, or room in a worker's queue, beyond what is kept for tenants which use little. */
  KEPT,
  /** Room for its program in the workers' memory. */
  PROGRAM,
  /** A worker that can be reached. */
  WORKER;

  /** Its name in metrics and in the admin API. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
