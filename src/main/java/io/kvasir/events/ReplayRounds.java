package io.kvasir.events;

/** How a replay gets on: how many rounds it has taken, and whether they still bring anything. One thread at a time. */
final class ReplayRounds {
  /** Rounds that bring nothing new before the engine is taken at its word. */
  static final int TRIES = 3;

  private static final int MOST = 1000;

  private int rounds;
  private int fruitless;
  private int beyond;
  private boolean heard;
  private boolean fresh;
  private boolean skipped;
  private boolean atFirst;

  /** A replay begins. */
  void begin() {
    rounds = 0;
    fruitless = 0;
    beyond = 0;
    heard = false;
  }

  /** One of its rounds begins. */
  void next() {
    rounds++;
    fresh = false;
    skipped = false;
    atFirst = true;
  }

  /** The engine has answered. */
  void hears() {
    heard = true;
  }

  /** Whether it has answered in any round. */
  boolean heard() {
    return heard;
  }

  /** The message that proves the history to be the same has come, the first of the round. */
  void verified() {
    heard = true;
    fresh = true;
    atFirst = false;
  }

  /** It has brought something new. */
  void brings() {
    fresh = true;
    fruitless = 0;
  }

  /** It has brought something new for which there was no room. */
  void skips() {
    skipped = true;
  }

  /** Whether a message is the round's first; true once. */
  boolean takeFirst() {
    boolean first = atFirst;
    atFirst = false;
    return first;
  }

  /** The engine's answer reaches back as far as it was asked to. */
  void reachesBack() {
    beyond = 0;
  }

  /** The engine has answered from a later number on; returns whether it is not yet sure that it always will. */
  boolean doubtsBeyond() {
    if (++beyond < TRIES) {
      return true;
    }
    beyond = 0;
    return false;
  }

  /** Nothing came that could prove the history; returns whether to ask once more. */
  boolean doubtsSilence() {
    return ++fruitless < TRIES;
  }

  /**
   * A round has ended; returns whether there should be another.
   *
   * @param settled whether the engine has said that this is all, and nothing that follows is held
   */
  boolean another(boolean settled) {
    fruitless = fresh ? 0 : fruitless + 1;
    return rounds < MOST && (fresh || (fruitless < TRIES && !settled));
  }

  /** Whether what had no room may be asked for again. */
  boolean mayFetchSkipped() {
    return skipped && rounds < MOST;
  }
}
