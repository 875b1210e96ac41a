package io.kvasir.routing;

import java.util.Set;

/**
 * A plugin of a profile. An instance belongs to one {@link Selector} (a preparer to one profile) and is called by many
 * threads at once: state that it keeps between decisions must be thread-safe, state within a decision is in its
 * arguments.
 */
public sealed interface Plugin permits Preparer, Filter, Scorer, Picker, ExecutionPolicy {
  /** The slots that the plugin reads; each must have exactly one writer that runs before it. */
  default Set<Slot<?>> reads() {
    return Set.of();
  }

  /** The slots that the plugin fills, for every request. */
  default Set<Slot<?>> writes() {
    return Set.of();
  }
}
