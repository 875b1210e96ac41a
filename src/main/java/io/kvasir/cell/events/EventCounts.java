package io.kvasir.cell.events;

/** What has become of a worker's events since it joined, for {@link EventState}. One thread at a time. */
final class EventCounts {
  long applied;
  long evicted;
  long restored;
  long refused;
  long otherGroup;
  long partial;
  long placeholder;
  long unassignable;
  long otherBlockSize;
  long orphaned;

  /** The counts of what was left out. */
  EventState.Ignored ignored() {
    return new EventState.Ignored(otherGroup, partial, placeholder, unassignable, otherBlockSize, orphaned);
  }
}
