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
 * Keeps only the workers of a list, or removes them: those that the profile names under {@code workers}, by their own
 * names or their pods', and with {@code from-client} (false) those that the client names as well.
 */
final class WorkerListFilter implements Filter {
  private final boolean keeps;
  private final String workers;
  private final Slot<String> fromClient;
  private final boolean readsClientList;
  private final PerMembershipAndText<long[]> kept;

  private WorkerListFilter(Parameters parameters, boolean keeps, Slot<String> fromClient) {
    this.keeps = keeps;
    this.fromClient = fromClient;
    this.workers = String.join(",", parameters.texts("workers", List.of()));
    this.readsClientList = parameters.flag("from-client", false);
    this.kept = new PerMembershipAndText<>(this::kept);
    if (workers.isEmpty() && !readsClientList) {
      throw new IllegalArgumentException("it has no list: name workers, or say from-client = true");
    }
  }

  /** Keeps those of the list; no list keeps everybody. */
  static WorkerListFilter allow(Parameters parameters) {
    return new WorkerListFilter(parameters, true, Slots.ALLOWED_WORKERS);
  }

  /** Removes those of the list. */
  static WorkerListFilter exclude(Parameters parameters) {
    return new WorkerListFilter(parameters, false, Slots.EXCLUDED_WORKERS);
  }

  private long[] kept(Worker[] table, String list) {
    Set<String> names = new HashSet<>();
    Arrays.stream(list.split(",", -1)).map(String::strip).forEach(names::add);
    return Bitmaps.of(table, worker -> (names.contains(worker.id()) || names.contains(worker.pod())) == keeps);
  }

  @Override
  public void filter(RoutingContext context, Candidates candidates) {
    if (!workers.isEmpty()) {
      Bitmaps.keep(candidates, kept.of(candidates, workers));
    }
    String asked = readsClientList ? context.get(fromClient) : "";
    if (!asked.isEmpty()) {
      Bitmaps.keep(candidates, kept.of(candidates, asked));
    }
  }

  @Override
  public UnmetNeed unmetNeed() {
    return UnmetNeed.ASKED_FOR;
  }

  @Override
  public Set<Slot<?>> reads() {
    return readsClientList ? Set.of(fromClient) : Set.of();
  }
}
