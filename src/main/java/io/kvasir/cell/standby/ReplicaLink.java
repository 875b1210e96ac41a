package io.kvasir.cell.standby;

import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The sender of one worker's changes to one replica: numbers frames, sends a few of them ahead of what the replica has
 * acknowledged, keeps them until then, and sends them again when they were lost. A replica that is too slow gets a
 * whole snapshot once it has acknowledged what is in flight, so the buffer is bounded. One thread at a time.
 */
public final class ReplicaLink {
  /** Most frames in flight: of some 32 KiB, so a quarter of a megabyte. */
  static final int WINDOW = 8;

  /** Bytes of changes that wait for a slow copy. */
  static final long MAX_WAITING_BYTES = 8L << 20;

  private static final long ACK_TIMEOUT_NANOS = Duration.ofSeconds(1).toNanos();

  private final FrameSender sender;
  private final ReplicaLag lag;
  private final NanoClock clock;
  private final ArrayDeque<PendingFrame> frames = new ArrayDeque<>();
  private long stream;
  private long next;
  private int sent;
  private long waitingBytes;
  private boolean snapshotting;
  private boolean snapshotNeeded = true;
  private boolean warm;
  private long snapshotEnd = Long.MAX_VALUE;
  private long eventsSent;
  private long eventsAcknowledged;
  private long progressNanos;
  private long resentFrom;

  /** Carries frames, which may be lost, doubled or late. */
  @FunctionalInterface
  public interface FrameSender {
    /** Sends a frame of a stream; {@code finishes} when it is the last of its batch. */
    void send(long stream, long number, boolean finishes, ReplicaChanges payload);
  }

  private record PendingFrame(
      ReplicaChanges payload, boolean finishes, boolean change, long eventsSent, long madeNanos) {}

  /** A link to a replica that has received nothing yet. */
  public ReplicaLink(FrameSender sender, ReplicaLag lag, NanoClock clock) {
    this.sender = sender;
    this.lag = lag;
    this.clock = clock;
  }

  /** Whether the replica needs a snapshot, and no frame in flight has to be acknowledged before. */
  boolean needsSnapshot() {
    return snapshotNeeded && sent == 0;
  }

  /** Whether changes are of use to the replica: it has the snapshot that they follow. */
  boolean acceptsChanges() {
    return snapshotting;
  }

  /** Which telling of the worker the copy is in the middle of. */
  public long stream() {
    return stream;
  }

  /** Begins a snapshot. */
  void beginSnapshot() {
    stream = ThreadLocalRandom.current().nextLong();
    next = 0;
    frames.clear();
    waitingBytes = 0;
    snapshotNeeded = false;
    snapshotting = false;
    warm = false;
    snapshotEnd = Long.MAX_VALUE;
    resentFrom = -1;
    eventsAcknowledged = eventsSent;
    progressNanos = clock.nanos();
    updateLag();
  }

  /** A piece of everything. */
  void snapshotPart(ReplicaChanges payload) {
    add(new PendingFrame(payload, true, false, eventsSent, clock.nanos()));
  }

  /** The last piece of everything: changes follow. */
  void endSnapshot(ReplicaChanges payload) {
    snapshotEnd = next + frames.size();
    snapshotting = true;
    snapshotPart(payload);
  }

  /**
   * Changes.
   *
   * @param finishes whether the batch that brought them ends with these
   * @param events that it had, when it does
   */
  void change(ReplicaChanges payload, boolean finishes, int events) {
    eventsSent += events;
    waitingBytes += payload.size();
    if (waitingBytes > MAX_WAITING_BYTES) {
      restart();
    } else {
      add(new PendingFrame(payload, finishes, true, eventsSent, clock.nanos()));
    }
  }

  /** Drops what has not been sent: the replica gets a new snapshot. */
  void restart() {
    while (frames.size() > sent) {
      frames.removeLast();
    }
    waitingBytes = 0;
    for (PendingFrame frame : frames) {
      waitingBytes += frame.change() ? frame.payload().size() : 0;
    }
    snapshotting = false;
    snapshotNeeded = true;
    updateLag();
  }

  /**
   * Handles an acknowledgement of the replica.
   *
   * @param of the stream that it acknowledges
   * @param expected number of the frame it expects next
   * @param missing whether it has received a later one
   * @return how many frames were sent again
   */
  public int acknowledged(long of, long expected, boolean missing) {
    if (of != stream || expected < next) {
      if (of == stream && expected == 0 && missing) {
        // What it had acknowledged is lost.
        frames.clear();
        sent = 0;
        restart();
      }
      return 0;
    }
    boolean moved = expected > next;
    while (next < expected && sent > 0) {
      PendingFrame done = frames.removeFirst();
      next++;
      sent--;
      eventsAcknowledged = done.eventsSent();
      waitingBytes -= done.change() ? done.payload().size() : 0;
    }
    warm |= next > snapshotEnd;
    if (moved) {
      progressNanos = clock.nanos();
    }
    int again = 0;
    if (missing && resentFrom != next) {
      // Frames in flight behind the lost one report the loss, too.
      resentFrom = next;
      again = resend();
    }
    send();
    updateLag();
    return again;
  }

  /** Sends again what has found no answer for long; returns how many frames. */
  public int resendOverdue() {
    int again = 0;
    if (sent > 0 && clock.nanos() - progressNanos > ACK_TIMEOUT_NANOS) {
      progressNanos = clock.nanos();
      again = resend();
    }
    updateLag();
    return again;
  }

  private void add(PendingFrame frame) {
    frames.addLast(frame);
    send();
    updateLag();
  }

  private void send() {
    if (sent == 0) {
      progressNanos = clock.nanos();
    }
    int at = 0;
    for (PendingFrame frame : frames) {
      if (at >= WINDOW) {
        break;
      }
      if (at >= sent) {
        send(at, frame);
        sent++;
      }
      at++;
    }
  }

  private int resend() {
    int at = 0;
    for (PendingFrame frame : frames) {
      if (at < sent) {
        send(at++, frame);
      }
    }
    return sent;
  }

  private void send(int at, PendingFrame frame) {
    sender.send(stream, next + at, frame.finishes(), frame.payload());
  }

  private void updateLag() {
    PendingFrame oldest = frames.peekFirst();
    lag.update(warm && !snapshotNeeded, eventsSent - eventsAcknowledged, oldest == null ? clock.nanos()
        : oldest.madeNanos());
  }
}
