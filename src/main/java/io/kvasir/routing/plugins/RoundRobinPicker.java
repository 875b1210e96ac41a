package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Picker;
import io.kvasir.routing.RoutingContext;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Picks the least recently picked candidate. A counter modulo the number of candidates would favour some workers for
 * ever when requests for different models alternate; the sequence number of each worker's last turn is fair to any mix.
 *
 * <p>Lock-free, and exact across threads: a turn is taken by compare-and-set of the worker's last turn, so over one set
 * of candidates no worker is ever two turns ahead of another.
 */
final class RoundRobinPicker implements Picker {
  private static final int MAX_SLOTS = 256;

  private final AtomicLongArray lastTurn = new AtomicLongArray(MAX_SLOTS);
  private final AtomicLong turns = new AtomicLong();

  @Override
  public int pick(RoutingContext context, Candidates candidates, double[] scores, int[] ranked) {
    while (true) {
      int count = rankByLastTurn(candidates, scores, ranked);
      int first = ranked[0];
      if (count == 0 || context.dryRun()) {
        return count;
      }
      // The turn is drawn after ranking: if another thread has taken this worker's turn since, the set below fails.
      long seen = (long) scores[first];
      if (lastTurn.compareAndSet(first, seen, turns.incrementAndGet())) {
        return count;
      }
    }
  }

  @Override
  public void onAlternativeChosen(RoutingContext context, Candidates candidates, int slot) {
    lastTurn.set(slot, turns.incrementAndGet());
  }

  @Override
  public boolean readsScores() {
    return false;
  }

  /** Ranks by last turn, oldest first, and writes the turns to {@code turn}, exact up to 2⁵³. */
  private int rankByLastTurn(Candidates candidates, double[] turn, int[] ranked) {
    int count = 0;
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      turn[slot] = lastTurn.get(slot);
      if (count == ranked.length && turn[slot] >= turn[ranked[count - 1]]) {
        continue;
      }
      int at = count < ranked.length ? count++ : count - 1;
      while (at > 0 && turn[slot] < turn[ranked[at - 1]]) {
        ranked[at] = ranked[at - 1];
        at--;
      }
      ranked[at] = slot;
    }
    return count;
  }
}
