package io.kvasir.cell.directory;

/** The roster as this node's directory received it last. Thread-safe. */
public final class CurrentRoster {
  private volatile Roster roster = Roster.EMPTY;

  /** The roster now. */
  public Roster get() {
    return roster;
  }

  /** Called by the directory alone. */
  void set(Roster now) {
    roster = now;
  }
}
