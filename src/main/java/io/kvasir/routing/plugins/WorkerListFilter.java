package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Filter;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import io.kvasir.routing.UnmetNeed;
import io.kvasir.routing.Worker;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Allow-list or exclude-list: keeps only the workers of a list, or removes them. The list has those that the profile
 * names under {@code workers}, by their own names or their pods', and with {@code from-client} (false) also those that
 * the client names.
 */
final class WorkerListFilter implements Filter {
  private final boolean isAllowList;
  private final String workers;
  private final Slot<String> clientSlot;
  private final boolean readsClientList;
  private final PerMembershipAndKey<String, long[]> kept;

  private WorkerListFilter(Parameters parameters, boolean isAllowList, Slot<String> clientSlot) {
    this.isAllowList = isAllowList;
    this.clientSlot = clientSlot;
    this.workers = String.join(",", parameters.texts("workers", List.of()));
    this.readsClientList = parameters.flag("from-client", false);
    this.kept = new PerMembershipAndKey<>(this::kept);
    if (workers.isEmpty() && !readsClientList) {
      throw new IllegalArgumentException("it has no list: name workers, or set from-client = true");
    }
  }

  /** A filter that keeps only the listed workers; an empty list keeps all. */
  static WorkerListFilter allow(Parameters parameters) {
    return new WorkerListFilter(parameters, true, Slots.ALLOWED_WORKERS);
  }

  /** A filter that removes the listed workers. */
  static WorkerListFilter exclude(Parameters parameters) {
    return new WorkerListFilter(parameters, false, Slots.EXCLUDED_WORKERS);
  }

  private long[] kept(Worker[] table, String list) {
    Set<String> names = new HashSet<>();
    Arrays.stream(list.split(",", -1)).map(String::strip).forEach(names::add);
    return Bitmaps.of(table, worker -> (names.contains(worker.id()) || names.contains(worker.pod())) == isAllowList);
  }

  @Override
  public void filter(RoutingContext context, Candidates candidates) {
    if (!workers.isEmpty()) {
      Bitmaps.keep(candidates, kept.of(candidates, workers));
    }
    String listed = readsClientList ? context.get(clientSlot) : "";
    if (!listed.isEmpty()) {
      Bitmaps.keep(candidates, kept.of(candidates, listed));
    }
  }

  @Override
  public UnmetNeed unmetNeed() {
    return UnmetNeed.ASKED_FOR;
  }

  @Override
  public Set<Slot<?>> reads() {
    return readsClientList ? Set.of(clientSlot) : Set.of();
  }
}
