package io.kvasir.gateway.admin;

import io.kvasir.cell.WorkerStatus;
import java.util.Locale;

/** How the index learns what a worker holds. */
public enum EventMode {
  /** Events come as they happen. */
  LIVE,
  /** Earlier events are being read. */
  REPLAYING,
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
    WorkerStatus.EventStream events = status.events();
    return events.source().isEmpty() ? APPROXIMATE
        : !events.connected() || events.appliedMillis() < 0 ? SILENT
        : status.index().suspect() ? SUSPECT
        : events.lagMillis() > REPLAY_LAG_MILLIS
            && System.currentTimeMillis() - events.appliedMillis() < READING_MILLIS ? REPLAYING
        : LIVE;
  }

  /** Its name in JSON. */
  String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
