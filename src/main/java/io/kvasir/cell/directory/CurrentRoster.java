package io.kvasir.cell.directory;

/** The roster as the directory last saw it, for every thread of the node. */
public final class CurrentRoster {
  private volatile Roster roster = Roster.EMPTY;

  /** As of now. */
  public Roster get() {
    return roster;
  }

  /** Called by the directory alone. */
  void set(Roster now) {
    roster = now;
  }
}
