package io.kvasir.cell;

import java.util.Locale;

/** How the index learns what a worker holds: the state of its sources of events. */
public enum EventMode {
  /** Events come as they happen. */
  LIVE,
  /** Earlier events are being read. */
  REPLAYING,
  /** It is what a standby had of the worker; nothing has come from its engine since. */
  SNAPSHOT,
  /** The engine is not reached, or has not said anything yet. */
  SILENT,
  /** Events were lost; the index may be wrong until they are read again. */
  SUSPECT,
  /** The worker has no events: what it holds is predicted from what it was sent. */
  APPROXIMATE;

  /** Messages that are older when they are applied are read after the fact. */
  private static final long REPLAY_LAG_MILLIS = 5000;

  /** A stream whose last message is older is not reading any more. */
  private static final long READING_MILLIS = 2000;

  /** That of a worker now. */
  public static EventMode of(WorkerStatus status) {
    return of(status.events(), status.index().suspect(), status.index().lastSequence());
  }

  /**
   * That of an event stream now.
   *
   * @param suspect whether events were lost
   * @param lastSequence number of the last message that has been applied, here or where it was taken over from; -1
   *     before the first
   */
  public static EventMode of(WorkerStatus.EventStream events, boolean suspect, long lastSequence) {
    boolean read = events.appliedMillis() >= 0;
    return events.source().isEmpty() ? APPROXIMATE
        : !read && lastSequence >= 0 ? suspect ? SUSPECT : SNAPSHOT
        : !read || !events.connected() ? SILENT
        : suspect ? SUSPECT
        : isPast(events) && isReading(events) ? REPLAYING
        : LIVE;
  }

  /**
   * How late a stream's messages come now, milliseconds; -1 where that is not known, as after a replay until a message
   * has come as it happened.
   */
  public static long lagMillis(WorkerStatus.EventStream events) {
    return isPast(events) && !isReading(events) ? -1 : events.lagMillis();
  }

  private static boolean isPast(WorkerStatus.EventStream events) {
    return events.lagMillis() > REPLAY_LAG_MILLIS;
  }

  private static boolean isReading(WorkerStatus.EventStream events) {
    return System.currentTimeMillis() - events.appliedMillis() < READING_MILLIS;
  }

  /** Its name in JSON. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
