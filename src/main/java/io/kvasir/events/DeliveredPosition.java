package io.kvasir.events;

/**
 * How far a stream has been delivered, and when the last message was published: by that a later connection finds out
 * whether it leads to the same history. One thread at a time.
 */
final class DeliveredPosition {
  private long next;

  /** When the message before {@link #next} was published; 0 when unknown. */
  private long publishedAt;

  /** The latest that it can have been published, where only that is known; else 0. */
  private long publishedBy;

  /** The number to deliver next; what is before it was delivered, or is known to be lost. */
  long next() {
    return next;
  }

  /** Goes back to where nothing has been delivered. */
  void reset() {
    skipTo(0);
  }

  /** Goes on after a position that another subscription has delivered. */
  void resumeAfter(StreamPosition last) {
    next = last.sequence() + 1;
    publishedAt = last.publishedAt();
    publishedBy = 0;
  }

  /** Notes that a message is delivered. */
  void delivered(KvBatch batch) {
    next = batch.sequence() + 1;
    publishedAt = batch.publishedAt();
    publishedBy = 0;
  }

  /** Notes that the messages before a number are lost. */
  void skipTo(long number) {
    next = number;
    publishedAt = 0;
    publishedBy = 0;
  }

  /**
   * Notes that the messages before a number are in a snapshot.
   *
   * @param lastPublished when the last of them was published, 0 when unknown
   * @param takenAt when the snapshot was made, 0 when unknown
   */
  void snapshot(long number, long lastPublished, long takenAt) {
    if (number != next) {
      next = number;
      publishedAt = lastPublished;
      publishedBy = takenAt;
    }
  }

  /** Whether a message is the last one before {@link #next}, of this history. */
  boolean isLast(KvBatch batch) {
    if (batch.sequence() != next - 1) {
      return false;
    }
    boolean timeKnown = publishedAt != 0 || publishedBy == 0;
    return timeKnown
        ? batch.publishedAt() == publishedAt
        : batch.publishedAt() != 0 && batch.publishedAt() <= publishedBy;
  }
}
