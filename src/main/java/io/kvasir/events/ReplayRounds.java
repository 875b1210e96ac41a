package io.kvasir.events;

/** How a replay gets on: how many rounds it has taken, and whether they still bring anything. One thread at a time. */
final class ReplayRounds {
  /** Rounds that bring nothing new before the engine is taken at its word. */
  static final int TRIES = 3;

  private static final int MAX_ROUNDS = 1000;

  private int rounds;
  private int emptyRounds;
  private int truncatedRounds;
  private boolean hasReply;
  private boolean progressed;
  private boolean skipped;
  private boolean atFirst;

  /** A replay begins. */
  void begin() {
    rounds = 0;
    emptyRounds = 0;
    truncatedRounds = 0;
    hasReply = false;
  }

  /** One of its rounds begins. */
  void next() {
    rounds++;
    progressed = false;
    skipped = false;
    atFirst = true;
  }

  /** The engine has answered. */
  void replied() {
    hasReply = true;
  }

  /** Whether it has answered in any round. */
  boolean hasReply() {
    return hasReply;
  }

  /** The message that proves the history to be the same has come, the first of the round. */
  void verified() {
    hasReply = true;
    progressed = true;
    atFirst = false;
  }

  /** It has brought something new. */
  void progressed() {
    progressed = true;
    emptyRounds = 0;
  }

  /** It has brought something new for which there was no room. */
  void skippedMessage() {
    skipped = true;
  }

  /** Whether a message is the round's first; true once. */
  boolean takeFirst() {
    boolean first = atFirst;
    atFirst = false;
    return first;
  }

  /** The engine's answer reaches back as far as it was asked to. */
  void reachedStart() {
    truncatedRounds = 0;
  }

  /** The engine has answered from a later number on; returns whether it is not yet sure that it always will. */
  boolean confirmTruncated() {
    if (++truncatedRounds < TRIES) {
      return true;
    }
    truncatedRounds = 0;
    return false;
  }

  /** Nothing came that could prove the history; returns whether to ask once more. */
  boolean retrySilence() {
    return ++emptyRounds < TRIES;
  }

  /**
   * A round has ended; returns whether there should be another.
   *
   * @param settled whether the engine has said that this is all, and nothing that follows is held
   */
  boolean needsAnother(boolean settled) {
    emptyRounds = progressed ? 0 : emptyRounds + 1;
    return rounds < MAX_ROUNDS && (progressed || (emptyRounds < TRIES && !settled));
  }

  /** Whether what had no room may be asked for again. */
  boolean mayFetchSkipped() {
    return skipped && rounds < MAX_ROUNDS;
  }
}
