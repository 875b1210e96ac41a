package io.kvasir.events;

/** How often an engine may still be asked for a snapshot. One thread at a time. */
final class SnapshotTries {
  /** Of one gap: a publisher stops publishing while it answers. */
  static final int PER_GAP = 2;

  /** Live messages after which a worker that lacks something is worth another try: minutes of a busy engine. */
  static final int MESSAGES_BETWEEN = 4096;

  private final boolean offered;
  private boolean refused;
  private int taken;
  private int messages;

  /** Tries with an engine that offers snapshots, or with one that does not. */
  SnapshotTries(boolean offered) {
    this.offered = offered;
  }

  /** Whether there is one left, which is then taken. */
  boolean take() {
    if (!offered || refused || taken == PER_GAP) {
      return false;
    }
    taken++;
    return true;
  }

  /** Notes that the engine does not know the request: it is not asked again on this connection. */
  void refused() {
    refused = true;
  }

  /** Notes that a gap has ended. */
  void renew() {
    taken = 0;
  }

  /** Counts a live message of a stream that lacks something; returns whether it is time for another try. */
  boolean isDue() {
    if (++messages < MESSAGES_BETWEEN) {
      return false;
    }
    messages = 0;
    return offered && !refused;
  }

  /** Notes a new connection, which may lead to another engine. */
  void connected() {
    taken = 0;
    refused = false;
  }
}
