package io.kvasir.routing;

import java.util.Set;

/**
 * A part of a profile. An instance belongs to one {@link Selector} (a preparer to one profile) and is called from many
 * threads at once, so what it keeps between decisions is thread-safe, and what it needs within one it finds in its
 * arguments.
 */
public sealed interface Plugin permits Preparer, Filter, Scorer, Picker, ExecutionPolicy {
  /** The slots it reads; each must have exactly one writer that runs before it. */
  default Set<Slot<?>> reads() {
    return Set.of();
  }

  /** The slots it fills, for every request. */
  default Set<Slot<?>> writes() {
    return Set.of();
  }
}
