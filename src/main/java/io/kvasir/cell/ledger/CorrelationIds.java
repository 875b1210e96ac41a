package io.kvasir.cell.ledger;

import java.util.concurrent.atomic.AtomicLong;

/** A node's ids of its requests to one cell, and from them those of the reservations they led to. Thread-safe. */
public final class CorrelationIds {
  /** The most steps of a plan. */
  private static final int STEPS = 16;

  private final AtomicLong last = new AtomicLong();

  /** The id of the next request. */
  public long next() {
    return last.incrementAndGet();
  }

  /** The id of the reservation of a step of a request's plan, counted from 0. */
  public static long reservation(long request, int step) {
    if (step >= STEPS) {
      throw new IllegalArgumentException("a plan has at most " + STEPS + " steps, not " + (step + 1));
    }
    return request * STEPS + step;
  }

  /** The id of the request that a reservation belongs to. */
  static long of(long reservation) {
    return reservation / STEPS;
  }
}
