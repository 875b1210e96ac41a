package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Filter;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.KvTransfer.TransferDomain;
import io.kvasir.routing.Partner;
import io.kvasir.routing.PerMembership;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import io.kvasir.routing.UnmetNeed;
import io.kvasir.routing.Worker;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * Keeps the workers that can work with the one another step has. For prefill those that hand KV blocks to it, or where
 * nobody has been chosen yet, to anybody; for decode those that take them from it, or can read the prompt themselves.
 */
final class PairFilter implements Filter {
  private final PerMembership<PairMasks> pairs = new PerMembership<>(PairMasks::of);

  /** Who can hand over to whom, as bitmaps. */
  private record PairMasks(Map<TransferDomain, long[]> domains, long[] any, long[] readers) {
    static PairMasks of(Worker[] table) {
      Map<TransferDomain, long[]> islands = new HashMap<>();
      for (Worker worker : table) {
        KvTransfer transfer = worker == null ? null : worker.kvTransfer();
        if (transfer != null) {
          islands.computeIfAbsent(transfer.domain(), island -> Bitmaps.of(table, other -> isOf(other, island)));
        }
      }
      return new PairMasks(
          islands,
          Bitmaps.of(table, worker -> worker.kvTransfer() != null),
          Bitmaps.of(table, Worker::canPrefill));
    }

    private static boolean isOf(Worker worker, TransferDomain island) {
      KvTransfer transfer = worker.kvTransfer();
      return transfer != null && transfer.domain().equals(island);
    }

    long[] with(Worker worker) {
      KvTransfer transfer = worker.kvTransfer();
      return transfer == null ? Bitmaps.NONE : domains.getOrDefault(transfer.domain(), Bitmaps.NONE);
    }
  }

  @Override
  public void filter(RoutingContext context, Candidates candidates) {
    PairMasks table = pairs.of(candidates);
    Partner partner = context.get(Slots.PARTNER);
    Worker worker = partner.worker();
    if (context.role() == Role.PREFILL) {
      Bitmaps.keep(candidates, worker == null ? table.any : table.with(worker));
      for (TransferDomain island : partner.avoided()) {
        Bitmaps.remove(candidates, table.domains.getOrDefault(island, Bitmaps.NONE));
      }
    } else if (context.role() == Role.DECODE) {
      if (worker == null) {
        Bitmaps.keep(candidates, table.readers);
      } else if (partner.isRequired()) {
        Bitmaps.keep(candidates, table.with(worker));
      } else {
        Bitmaps.keep(candidates, table.readers, table.with(worker));
      }
    }
    if (worker != null && (context.role() == Role.PREFILL || partner.isRequired())) {
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
  public UnmetNeed unmetNeed() {
    return UnmetNeed.PAIR;
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(Slots.PARTNER);
  }
}
