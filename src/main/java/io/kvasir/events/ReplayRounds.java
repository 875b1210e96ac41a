package io.kvasir.events;

/**
 * The progress of a replay: how many rounds it has taken, and whether they still bring anything. One thread at a time.
 */
final class ReplayRounds {
  /** Rounds without anything new after which the replay ends. */
  static final int TRIES = 3;

  private static final int MAX_ROUNDS = 1000;

  private int rounds;
  private int emptyRounds;
  private int truncatedRounds;
  private boolean hasReply;
  private boolean silent;
  private boolean progressed;
  private boolean skipped;
  private boolean atFirst;

  /** Begins a replay. */
  void begin() {
    rounds = 0;
    emptyRounds = 0;
    truncatedRounds = 0;
    hasReply = false;
    silent = false;
  }

  /** Begins a round of the replay. */
  void next() {
    rounds++;
    progressed = false;
    skipped = false;
    atFirst = true;
  }

  /** Notes that the engine has replied. */
  void replied() {
    hasReply = true;
  }

  /** Whether the engine has replied, and was asked again, and had nothing more: it need not have marked that. */
  boolean isExhausted() {
    return hasReply && silent;
  }

  /** Notes that the first message of the round proved the history to be the same. */
  void verified() {
    hasReply = true;
    progressed = true;
    atFirst = false;
  }

  /** Notes that the round brought a new message. */
  void progressed() {
    progressed = true;
    emptyRounds = 0;
    silent = false;
  }

  /** Notes that the round brought a new message for which there was no room. */
  void skippedMessage() {
    skipped = true;
  }

  /** Whether a message is the round's first; true once per round. */
  boolean takeFirst() {
    boolean first = atFirst;
    atFirst = false;
    return first;
  }

  /** Notes that the reply reaches back to the number requested. */
  void reachedStart() {
    truncatedRounds = 0;
  }

  /** Notes a reply from a later number on; returns whether another round should confirm it. */
  boolean confirmTruncated() {
    if (++truncatedRounds < TRIES) {
      return true;
    }
    truncatedRounds = 0;
    return false;
  }

  /** Notes a round without any message; returns whether to request another. */
  boolean retrySilence() {
    return ++emptyRounds < TRIES;
  }

  /**
   * Ends a round; returns whether there should be another.
   *
   * @param reached whether there was a connection to the engine in it
   * @param settled whether the engine marked the end, and no later message is buffered
   */
  boolean needsAnother(boolean reached, boolean settled) {
    silent |= reached && !progressed;
    emptyRounds = progressed ? 0 : emptyRounds + 1;
    return rounds < MAX_ROUNDS && (progressed || (emptyRounds < TRIES && !settled));
  }

  /** Whether messages that had no room may be requested again. */
  boolean mayFetchSkipped() {
    return skipped && rounds < MAX_ROUNDS;
  }
}
