package io.kvasir.prompt;

import java.util.Comparator;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;

/**
 * The large requests that wait to be prepared. The smallest has the next turn; but every {@value #OLDEST_EVERY}th turn
 * is the oldest one's, so that the largest do not starve. One that was interrupted counts as older than those that have
 * not begun. Not thread-safe.
 */
final class PreparationQueue {
  private static final int OLDEST_EVERY = 4;

  private final TreeSet<Waiter> bySize =
      new TreeSet<>(Comparator.comparingLong(Waiter::bytes).thenComparingLong(Waiter::number));
  private final TreeSet<Waiter> byAge =
      new TreeSet<>(Comparator.comparing(Waiter::begun).reversed().thenComparingLong(Waiter::number));
  private long arrivals;
  private long turns;

  /**
   * A request that waits.
   *
   * @param begun whether its preparation was interrupted
   * @param number its place among those that came
   * @param turn completes with true when it has its permit, with false when it has left
   */
  record Waiter(long bytes, boolean begun, long number, CompletableFuture<Boolean> turn) {}

  Waiter add(long bytes, boolean begun) {
    arrivals++;
    Waiter waiter = new Waiter(bytes, begun, arrivals, new CompletableFuture<>());
    bySize.add(waiter);
    byAge.add(waiter);
    return waiter;
  }

  /** Takes a request out, if it is still there. */
  void remove(Waiter waiter) {
    bySize.remove(waiter);
    byAge.remove(waiter);
  }

  /** Takes out the request whose turn it is, of at least one. */
  Waiter takeNext() {
    turns++;
    Waiter next = turns % OLDEST_EVERY == 0 ? byAge.first() : bySize.first();
    remove(next);
    return next;
  }

  int size() {
    return bySize.size();
  }

  /** Bytes of the smallest request, or the greatest number when there is none. */
  long smallest() {
    return bySize.isEmpty() ? Long.MAX_VALUE : bySize.first().bytes();
  }
}
