package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Hashing;
import io.kvasir.routing.PerMembership;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Scorer;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import java.util.Arrays;
import java.util.Set;

/**
 * Stateless session affinity: the rendezvous hash of session key and worker id, 0 to 1, so that removing a worker moves
 * only its own sessions. 0 for all when the request has no session.
 *
 * <p>Thaler, Ravishankar: "Using name-based mappings to increase hit rates", 1998.
 */
final class SessionAffinityScorer implements Scorer {
  private final PerMembership<long[]> ids =
      new PerMembership<>(
          table ->
              Arrays.stream(table)
                  .mapToLong(worker -> worker == null ? 0 : Hashing.mix(Hashing.of(worker.id())))
                  .toArray());

  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    String session = context.get(Slots.SESSION_KEY);
    long key = Hashing.of(session);
    long[] workers = ids.of(candidates);
    for (int slot = 0; slot < candidates.slots(); slot++) {
      out[slot] = session.isEmpty() ? 0 : (Hashing.mix(key ^ workers[slot]) >>> 11) * 0x1p-53;
    }
  }

  @Override
  public Direction direction() {
    return Direction.HIGHER;
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(Slots.SESSION_KEY);
  }
}
