package io.kvasir.cell;

/** The roster as the directory last saw it, for every thread of the node. */
final class CurrentRoster {
  private volatile Roster roster = Roster.EMPTY;

  Roster get() {
    return roster;
  }

  /** Called by the directory alone. */
  void set(Roster now) {
    roster = now;
  }
}
