package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.PerMembership;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Scorer;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Spreads cold requests, those of which no worker has {@code min-match} (1) blocks: the score is the sequence number of
 * the last cold request that was sent to a worker, so that the least recently used one is next. 0 for all when the
 * request is warm. From llm-d.
 */
final class NoHitLruScorer implements Scorer {
  private final int minMatch;
  private final AtomicLong turns = new AtomicLong();
  private final PerMembership<AtomicLongArray> lastTurn =
      new PerMembership<>(table -> new AtomicLongArray(table.length));

  NoHitLruScorer(Parameters parameters) {
    this.minMatch = parameters.whole("min-match", 1, 1, 1_000_000);
  }

  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    boolean cold = isCold(candidates);
    AtomicLongArray turn = lastTurn.of(candidates);
    for (int slot = 0; slot < candidates.slots(); slot++) {
      out[slot] = cold ? turn.get(slot) : 0;
    }
  }

  @Override
  public void onChosen(RoutingContext context, Candidates candidates, int slot) {
    if (isCold(candidates)) {
      lastTurn.of(candidates).set(slot, turns.incrementAndGet());
    }
  }

  private boolean isCold(Candidates candidates) {
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      if (candidates.depth[slot] >= minMatch) {
        return false;
      }
    }
    return true;
  }

  @Override
  public Direction direction() {
    return Direction.LOWER;
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(Slots.CHAIN);
  }
}
