package io.kvasir.cell.worker;

import io.kvasir.cell.PodSpec;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.events.EventFeed;
import io.kvasir.events.KvBatch;
import io.kvasir.events.KvEvent;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The health of a worker's event stream, for people: how late its messages are, and what went wrong with it since the
 * worker joined. What decisions need of the stream is its {@link io.kvasir.cell.events.EventState}. Thread-safe.
 */
public final class EventStreamHealth {
  private static final long NEVER = -1;

  private final String source;
  private long appliedMillis = NEVER;
  private long lagMillis = NEVER;
  private long gaps;
  private long failures;
  private @Nullable String lastFault;

  EventStreamHealth(PodSpec pod) {
    this.source = pod.events().stream().map(EventFeed::kind).distinct().collect(Collectors.joining("+"));
  }

  /** A batch has been applied. */
  public synchronized void applied(KvBatch batch, long nowMillis) {
    if (batch.sequence() != KvBatch.UNSEQUENCED || batch.publishedAt() > 0) {
      appliedMillis = nowMillis;
    }
    if (batch.publishedAt() > 0) {
      lagMillis = Math.max(0, nowMillis - batch.publishedAt() / 1000);
    }
    for (KvEvent event : batch.events()) {
      switch (event) {
        case KvEvent.Gap(long from) -> {
          // A stream begins with what came before it, which is asked for and no fault.
          if (appliedMillis != NEVER) {
            gaps++;
            lastFault = "messages from number " + from + " on may be missing";
          }
        }
        case KvEvent.GapAbandoned(long from, long to) -> lastFault = "messages " + from + " to " + to + " were lost";
        case KvEvent.SnapshotFailed(String why) -> lastFault = "no snapshot of the engine: " + why;
        case KvEvent.Stored _, KvEvent.Removed _, KvEvent.Cleared _, KvEvent.GapClosed _, KvEvent.Restarted _,
            KvEvent.Snapshot _, KvEvent.Connected _, KvEvent.Disconnected _ -> {}
      }
    }
  }

  /** The stream failed and is to be opened again. */
  public synchronized void failed(Throwable cause) {
    failures++;
    lastFault = "the stream failed: " + cause;
  }

  synchronized WorkerStatus.EventStream status(boolean connected) {
    return new WorkerStatus.EventStream(source, connected, lagMillis, appliedMillis, gaps, failures, lastFault);
  }
}
