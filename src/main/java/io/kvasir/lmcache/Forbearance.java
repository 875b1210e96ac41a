package io.kvasir.lmcache;

import java.util.function.LongSupplier;

/** Leaves alone who has failed several times in a row, but for one question in a while. Thread-safe. */
final class Forbearance {
  /** Failures in a row after which it begins. */
  private static final int FAILURES = 3;

  private static final long REST_NANOS = 1_000_000_000L;

  private final LongSupplier nanos;
  private int failures;
  private long restUntil;

  Forbearance(LongSupplier nanos) {
    this.nanos = nanos;
  }

  /** Whether a question may be asked now. */
  synchronized boolean mayAsk() {
    if (failures < FAILURES) {
      return true;
    }
    long now = nanos.getAsLong();
    if (now - restUntil < 0) {
      return false;
    }
    restUntil = now + REST_NANOS;
    return true;
  }

  /** A question was answered, or not. */
  synchronized void went(boolean well) {
    failures = well ? 0 : Math.min(failures + 1, FAILURES);
    restUntil = nanos.getAsLong() + REST_NANOS;
  }
}
