package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Filter;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.KvTransfer.Island;
import io.kvasir.routing.Partner;
import io.kvasir.routing.PerTable;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import io.kvasir.routing.Want;
import io.kvasir.routing.Worker;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * Keeps the workers that can work with the one another step has. For prefill those that hand KV blocks to it, or where
 * nobody has been chosen yet, to anybody; for decode those that take them from it, or can read the prompt themselves.
 */
final class PairFilter implements Filter {
  private final PerTable<Pairs> pairs = new PerTable<>(Pairs::of);

  /** Who can hand over to whom, as bitmaps. */
  private record Pairs(Map<Island, long[]> islands, long[] anybody, long[] readers) {
    static Pairs of(Worker[] table) {
      Map<Island, long[]> islands = new HashMap<>();
      for (Worker worker : table) {
        KvTransfer transfer = worker == null ? null : worker.kvTransfer();
        if (transfer != null) {
          islands.computeIfAbsent(transfer.island(), island -> Bitmaps.of(table, other -> isOf(other, island)));
        }
      }
      return new Pairs(
          islands,
          Bitmaps.of(table, worker -> worker.kvTransfer() != null),
          Bitmaps.of(table, Worker::readsPrompts));
    }

    private static boolean isOf(Worker worker, Island island) {
      KvTransfer transfer = worker.kvTransfer();
      return transfer != null && transfer.island().equals(island);
    }

    long[] with(Worker worker) {
      KvTransfer transfer = worker.kvTransfer();
      return transfer == null ? Bitmaps.NOBODY : islands.getOrDefault(transfer.island(), Bitmaps.NOBODY);
    }
  }

  @Override
  public void filter(RoutingContext context, Candidates candidates) {
    Pairs table = pairs.of(candidates);
    Partner partner = context.get(Slots.PARTNER);
    Worker worker = partner.worker();
    if (context.role() == Role.PREFILL) {
      Bitmaps.keep(candidates, worker == null ? table.anybody : table.with(worker));
      for (Island island : partner.avoided()) {
        Bitmaps.remove(candidates, table.islands.getOrDefault(island, Bitmaps.NOBODY));
      }
    } else if (context.role() == Role.DECODE) {
      if (worker == null) {
        Bitmaps.keep(candidates, table.readers);
      } else if (partner.isNeeded()) {
        Bitmaps.keep(candidates, table.with(worker));
      } else {
        Bitmaps.keep(candidates, table.readers, table.with(worker));
      }
    }
    if (worker != null && (context.role() == Role.PREFILL || partner.isNeeded())) {
      removePod(candidates, worker);
    }
  }

  /** Nobody hands over to himself. */
  private static void removePod(Candidates candidates, Worker worker) {
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      if (candidates.workers[slot].pod().equals(worker.pod())) {
        candidates.remove(slot);
      }
    }
  }

  @Override
  public Want want() {
    return Want.PAIR;
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(Slots.PARTNER);
  }
}
