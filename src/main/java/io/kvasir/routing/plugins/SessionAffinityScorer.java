package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.PerTable;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Scorer;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import java.util.Arrays;
import java.util.Set;

/**
 * Keeps a session on one worker without remembering it: rendezvous hashing of session key and worker id,
 * 0 to 1, so that a worker that goes takes only its own sessions with it. 0 for all when the request has no
 * session.
 *
 * <p>Thaler, Ravishankar: "Using name-based mappings to increase hit rates", 1998.
 */
final class SessionAffinityScorer implements Scorer {
  private final PerTable<long[]> ids =
      new PerTable<>(
          table ->
              Arrays.stream(table)
                  .mapToLong(worker -> worker == null ? 0 : Hashes.mix(Hashes.of(worker.id())))
                  .toArray());

  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    String session = context.get(Slots.SESSION_KEY);
    long key = Hashes.of(session);
    long[] workers = ids.of(candidates);
    for (int slot = 0; slot < candidates.slots(); slot++) {
      out[slot] = session.isEmpty() ? 0 : (Hashes.mix(key ^ workers[slot]) >>> 11) * 0x1p-53;
    }
  }

  @Override
  public Better better() {
    return Better.HIGHER;
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(Slots.SESSION_KEY);
  }
}
