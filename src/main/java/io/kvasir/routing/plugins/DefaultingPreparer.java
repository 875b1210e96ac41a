package io.kvasir.routing.plugins;

import io.kvasir.routing.Preparer;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Slot;
import java.util.Set;

/**
 * A slot that is filled before preparers run, where the request arrives. When it was not (nothing could be found out of
 * the prompt) it gets a stated answer, and the request is routed by what else is known.
 */
final class DefaultingPreparer<T> implements Preparer {
  private final Slot<T> slot;
  private final T fallback;
  private final Set<Slot<?>> reads;

  DefaultingPreparer(Slot<T> slot, T otherwise, Slot<?>... reads) {
    this.slot = slot;
    this.fallback = otherwise;
    this.reads = Set.of(reads);
  }

  @Override
  public void prepare(RoutingContext context) {
    context.put(slot, fallback);
  }

  @Override
  public Set<Slot<?>> reads() {
    return reads;
  }

  @Override
  public Set<Slot<?>> writes() {
    return Set.of(slot);
  }
}
