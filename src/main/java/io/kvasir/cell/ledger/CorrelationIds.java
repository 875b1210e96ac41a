package io.kvasir.cell.ledger;

import java.util.concurrent.atomic.AtomicLong;

/** A node's numbers of its questions, and from them its names of the reservations they led to. Thread-safe. */
public final class CorrelationIds {
  /** Steps of a plan that can be told apart. */
  private static final int STEPS = 16;

  private final AtomicLong last = new AtomicLong();

  /** The number of the next question. */
  public long next() {
    return last.incrementAndGet();
  }

  /** The name of the reservation of a question's step, counted from 0. */
  public static long reservation(long ticket, int step) {
    if (step >= STEPS) {
      throw new IllegalArgumentException("a plan has at most " + STEPS + " steps, not " + (step + 1));
    }
    return ticket * STEPS + step;
  }

  /** The question a reservation answers. */
  static long of(long reservation) {
    return reservation / STEPS;
  }
}
