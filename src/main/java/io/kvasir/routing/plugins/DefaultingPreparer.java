package io.kvasir.routing.plugins;

import io.kvasir.routing.Preparer;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Slot;
import java.util.Set;

/**
 * A preparer for a slot that is normally filled before preparers run. When it is empty, since the prompt could not be
 * read, it gets a fallback value, and the request is routed by its other slots.
 */
final class DefaultingPreparer<T> implements Preparer {
  private final Slot<T> slot;
  private final T fallback;
  private final Set<Slot<?>> reads;

  DefaultingPreparer(Slot<T> slot, T fallback, Slot<?>... reads) {
    this.slot = slot;
    this.fallback = fallback;
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
