package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Filter;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import io.kvasir.routing.UnmetNeed;
import io.kvasir.routing.Worker;
import java.util.Set;

/**
 * Keeps the workers whose labels {@code match} a {@link LabelSelector}, and with {@code from-client} (false) those that
 * match the client's as well.
 */
final class LabelsFilter implements Filter {
  private final String match;
  private final boolean fromClient;
  private final PerMembershipAndKey<String, long[]> matching = new PerMembershipAndKey<>(LabelsFilter::matching);

  LabelsFilter(Parameters parameters) {
    this.match = parameters.text("match", "");
    this.fromClient = parameters.flag("from-client", false);
    if (LabelSelector.of(match).conditions().isEmpty() && !fromClient) {
      throw new IllegalArgumentException("it keeps every worker: set match, or from-client = true");
    }
  }

  private static long[] matching(Worker[] table, String text) {
    LabelSelector selector = LabelSelector.of(text);
    return Bitmaps.of(table, worker -> selector.matches(worker.labels()));
  }

  @Override
  public void filter(RoutingContext context, Candidates candidates) {
    if (!match.isBlank()) {
      Bitmaps.keep(candidates, matching.of(candidates, match));
    }
    String required = fromClient ? context.get(Slots.REQUIRED_LABELS) : "";
    if (!required.isEmpty()) {
      Bitmaps.keep(candidates, matching.of(candidates, required));
    }
  }

  @Override
  public UnmetNeed unmetNeed() {
    return UnmetNeed.ASKED_FOR;
  }

  @Override
  public Set<Slot<?>> reads() {
    return fromClient ? Set.of(Slots.REQUIRED_LABELS) : Set.of();
  }
}
