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
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * Keeps the workers that can transfer KV blocks with that of the plan's other step. For prefill: workers that can send
 * to the decode worker, or to any worker when none is chosen yet. For decode: workers that can receive from the prefill
 * worker, or compute the prompt themselves. Workers whose prompts others fail to receive are not chosen for prefill
 * while some worker computes prompts without it.
 */
final class PairFilter implements Filter {
  private final PerMembership<PairMasks> pairs = new PerMembership<>(PairMasks::of);

  /** Bitmaps of the workers that can transfer to each other. */
  private record PairMasks(
      Map<TransferDomain, long[]> domains, long[] transferring, long[] prefilling, boolean canDoWithout) {
    static PairMasks of(Worker[] table) {
      Map<TransferDomain, long[]> domains = new HashMap<>();
      for (Worker worker : table) {
        KvTransfer transfer = worker == null ? null : worker.kvTransfer();
        if (transfer != null) {
          domains.computeIfAbsent(transfer.domain(), domain -> Bitmaps.of(table, other -> isIn(other, domain)));
        }
      }
      return new PairMasks(
          domains,
          Bitmaps.of(table, worker -> worker.kvTransfer() != null),
          Bitmaps.of(table, Worker::canPrefill),
          Arrays.stream(table)
              .anyMatch(worker -> worker != null && worker.role().takes(Role.DECODE) && worker.canPrefill()));
    }

    private static boolean isIn(Worker worker, TransferDomain domain) {
      KvTransfer transfer = worker.kvTransfer();
      return transfer != null && transfer.domain().equals(domain);
    }

    long[] pairable(Worker worker) {
      KvTransfer transfer = worker.kvTransfer();
      return transfer == null ? Bitmaps.NONE : domains.getOrDefault(transfer.domain(), Bitmaps.NONE);
    }
  }

  @Override
  public void filter(RoutingContext context, Candidates candidates) {
    PairMasks masks = pairs.of(candidates);
    Partner partner = context.get(Slots.PARTNER);
    Worker worker = partner.worker();
    if (context.role() == Role.PREFILL) {
      Bitmaps.keep(candidates, worker == null ? masks.transferring : masks.pairable(worker));
      for (TransferDomain domain : partner.avoidedDomains()) {
        Bitmaps.remove(candidates, masks.domains.getOrDefault(domain, Bitmaps.NONE));
      }
      if (candidates.notHandingOver != null && masks.canDoWithout) {
        removeNotHandingOver(context, candidates, candidates.notHandingOver);
      }
    } else if (context.role() == Role.DECODE) {
      if (worker == null) {
        Bitmaps.keep(candidates, masks.prefilling);
      } else if (partner.isRequired()) {
        Bitmaps.keep(candidates, masks.pairable(worker));
      } else {
        Bitmaps.keep(candidates, masks.prefilling, masks.pairable(worker));
      }
    }
    if (worker != null && (context.role() == Role.PREFILL || partner.isRequired())) {
      removePod(candidates, worker);
    }
  }

  private static void removeNotHandingOver(RoutingContext context, Candidates candidates, long[] those) {
    int before = candidates.count();
    Bitmaps.remove(candidates, those);
    int removed = before - candidates.count();
    if (removed > 0) {
      context.note("not-handing-over", Integer.toString(removed));
    }
  }

  /** Removes the workers of a pod: no pod transfers to itself. */
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
