package io.kvasir.cell.directory;

/** The roster as this node's directory received it last. Thread-safe. */
public final class CurrentRoster {
  private volatile Roster roster;

  /** Empty until the directory has received one. */
  public CurrentRoster() {
    this(Roster.EMPTY);
  }

  /** This one to begin with. */
  public CurrentRoster(Roster roster) {
    this.roster = roster;
  }

  /** The roster now. */
  public Roster get() {
    return roster;
  }

  /** Called by the directory alone. */
  void set(Roster now) {
    roster = now;
  }
}
