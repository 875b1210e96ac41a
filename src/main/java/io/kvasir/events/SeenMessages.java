package io.kvasir.events;

/**
 * How far the messages of a stream have come, as far as they have been seen: by that a message shows whether it is from
 * a new process. One thread at a time.
 */
final class SeenMessages {
  /** Highest number seen, the latest publishing seen (0: unknown), and the highest live number on this connection. */
  private long highest = -1;

  private long highestPublished;
  private long highestLive = -1;

  /** Who has published what was seen, {@link PublisherId#NONE} while that is not known. */
  private long publisher;

  /** Resumes after a position that another subscription has delivered. */
  void resumeAfter(StreamPosition last) {
    highest = last.sequence();
    highestPublished = last.publishedAt();
  }

  /** Notes that a connection begins, on which no live message has come. */
  void connected() {
    highestLive = -1;
  }

  /** Forgets all of them: what comes next may be from another process. */
  void forget() {
    highest = -1;
    highestPublished = 0;
    highestLive = -1;
    publisher = PublisherId.NONE;
  }

  boolean isEmpty() {
    return highest < 0;
  }

  /** Whether a live message is from a new process. */
  boolean isRestart(DecodedMessage decoded) {
    KvBatch live = decoded.batch();
    if (isOfAnother(decoded.publisher())) {
      return true;
    }
    if (live.sequence() > highest) {
      return false;
    }
    if (live.publishedAt() != 0 && highestPublished != 0) {
      return live.publishedAt() > highestPublished;
    }
    return live.sequence() < highestLive;
  }

  /** Whether something was published by another process than what was seen. */
  boolean isOfAnother(long its) {
    return PublisherId.differ(publisher, its);
  }

  /**
   * Whether a replayed message is from a new process: of those, only its publisher or the time of publishing shows it.
   */
  boolean isReplayedRestart(DecodedMessage decoded) {
    KvBatch replayed = decoded.batch();
    if (isOfAnother(decoded.publisher())) {
      return true;
    }
    return replayed.sequence() <= highest && highestPublished != 0 && replayed.publishedAt() > highestPublished;
  }

  /** Highest number seen, -1 for none. */
  long highest() {
    return highest;
  }

  /**
   * Notes a snapshot in which the messages up to a number are; one published after it with such a number is from a new
   * process.
   *
   * @param takenAt when, microseconds since the epoch; 0 when unknown
   * @param its who has published it
   */
  void snapshot(long last, long takenAt, long its) {
    publisher = its == PublisherId.NONE ? publisher : its;
    if (takenAt != 0) {
      highest = Math.max(highest, last);
      highestPublished = Math.max(highestPublished, takenAt);
    }
  }

  /** Notes that a live message has come, readable or not. */
  void live(long sequence) {
    highestLive = Math.max(highestLive, sequence);
  }

  /** Notes number and time of a message; not of a damaged one, whose intact copy would look younger than it. */
  void observe(DecodedMessage decoded) {
    if (decoded.intact()) {
      highest = Math.max(highest, decoded.batch().sequence());
      highestPublished = Math.max(highestPublished, decoded.batch().publishedAt());
      publisher = decoded.publisher() == PublisherId.NONE ? publisher : decoded.publisher();
    }
  }

  /** Whether a live message has come on this connection, and all that have are below {@code next}. */
  boolean liveAreBelow(long next) {
    return highestLive >= 0 && next > highestLive;
  }
}
