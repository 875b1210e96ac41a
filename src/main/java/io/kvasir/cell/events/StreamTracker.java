package io.kvasir.cell.events;

import io.kvasir.events.KvBatch;
import io.kvasir.events.StreamPosition;

/** Tracks how far a worker's stream of events has come, and what is missing of it. One thread at a time. */
final class StreamTracker {
  private StreamPosition position;
  /** Messages may be missing and may still come. */
  private boolean gap;
  /** Messages are missing and will not come. */
  private boolean lost;

  private boolean connected;
  private long suspectSince = EventState.CERTAIN;

  /** Goes on behind a position, with what was lost before it. */
  StreamTracker(StreamPosition position, boolean lost) {
    this.position = position;
    this.lost = lost;
  }

  StreamPosition position() {
    return position;
  }

  boolean isLost() {
    return lost;
  }

  boolean isConnected() {
    return connected;
  }

  /** Since when messages are missing, {@link EventState#CERTAIN} while none is. */
  long suspectSince() {
    return suspectSince;
  }

  void connected(boolean now) {
    connected = now;
  }

  void gapOpened() {
    gap = true;
  }

  void gapClosed() {
    gap = false;
  }

  void gapAbandoned() {
    gap = false;
    lost = true;
  }

  /** What was missed does not matter any more: all is told anew. */
  void begunAnew() {
    lost = false;
  }

  /** The engine was started anew, and with it the stream. */
  void restart() {
    gap = false;
    lost = false;
    position = new StreamPosition(KvBatch.UNSEQUENCED, 0);
  }

  /** A numbered message was applied. */
  void advance(KvBatch batch) {
    position = new StreamPosition(batch.sequence(), batch.publishedAt());
  }

  /** Between two messages, at a time of the applier's. */
  void settle(long now) {
    if (!gap && !lost) {
      suspectSince = EventState.CERTAIN;
    } else if (suspectSince == EventState.CERTAIN) {
      suspectSince = now;
    }
  }
}
