package io.kvasir.cell.ledger;

import java.util.LinkedHashSet;
import java.util.SequencedSet;

/**
 * A node's ids of its requests to one cell, and from them those of the reservations they led to. A request is open from
 * its first id until its reservations, if it has any, are among those that the node has in flight. Thread-safe.
 */
public final class CorrelationIds {
  /** The most steps of a plan. */
  private static final int STEPS = 16;

  private long last;

  /** The first ids of open requests, in ascending order. */
  private final SequencedSet<Long> open = new LinkedHashSet<>();

  /** The first id of a request that begins. */
  public synchronized long begin() {
    last++;
    open.add(last);
    return last;
  }

  /** Another id of an open request, which is sent once more. */
  public synchronized long next() {
    last++;
    return last;
  }

  /** Ends a request, by its first id. */
  public synchronized void end(long first) {
    open.remove(first);
  }

  /** An id below which every request has ended, and which has none above it when there is no open request. */
  public synchronized long endedBelow() {
    return open.isEmpty() ? last + 1 : open.getFirst();
  }

  /** The id of the reservation of a step of a request's plan, counted from 0. */
  public static long reservation(long request, int step) {
    if (step >= STEPS) {
      throw new IllegalArgumentException("a plan has at most " + STEPS + " steps, not " + (step + 1));
    }
    return request * STEPS + step;
  }

  /** The id of the request that a reservation belongs to. */
  public static long of(long reservation) {
    return reservation / STEPS;
  }
}
