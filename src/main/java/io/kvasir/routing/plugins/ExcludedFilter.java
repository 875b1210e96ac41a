package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Filter;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.UnmetNeed;
import java.util.Set;

/** Removes the workers that already failed this request. */
final class ExcludedFilter implements Filter {
  @Override
  public void filter(RoutingContext context, Candidates candidates) {
    Set<String> excluded = context.excluded();
    if (excluded.isEmpty()) {
      return;
    }
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      if (excluded.contains(candidates.workers[slot].id())) {
        candidates.remove(slot);
      }
    }
  }

  @Override
  public UnmetNeed unmetNeed() {
    return UnmetNeed.UNTRIED;
  }
}
