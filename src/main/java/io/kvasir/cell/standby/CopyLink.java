package io.kvasir.cell.standby;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongSupplier;

/**
 * The way of one worker's changes to one copy: numbers frames, sends a few of them ahead of what the copy has
 * confirmed, keeps them until it has, and sends them again when they were lost. A copy that is too slow is told
 * everything anew once it has taken what is on its way, so what is kept is bounded. One thread at a time.
 */
public final class CopyLink {
  /** Frames on their way: of some 32 KiB, so a quarter of a megabyte. */
  static final int WINDOW = 8;

  /** Bytes of changes that wait for a slow copy. */
  static final long MOST_WAITING = 8L << 20;

  private static final long SILENCE_NANOS = Duration.ofSeconds(1).toNanos();

  private final Way way;
  private final CopyProgress progress;
  private final LongSupplier nanos;
  private final ArrayDeque<Frame> frames = new ArrayDeque<>();
  private long stream;
  private long next;
  private int sent;
  private long waitingBytes;
  private boolean telling;
  private boolean wanted = true;
  private boolean warm;
  private long wholeNumber = Long.MAX_VALUE;
  private long told;
  private long confirmed;
  private long movedNanos;
  private long resentFrom;

  /** Carries frames, which may be lost, doubled or late. */
  @FunctionalInterface
  public interface Way {
    /** Sends a frame of a stream; {@code finishes} when the batch that it tells of ends with it. */
    void send(long stream, long number, boolean finishes, byte[] payload);
  }

  private record Frame(byte[] payload, boolean finishes, boolean change, long told, long madeNanos) {}

  /** A way to a copy that knows nothing yet. */
  public CopyLink(Way way, CopyProgress progress, LongSupplier nanos) {
    this.way = way;
    this.progress = progress;
    this.nanos = nanos;
  }

  /** Whether the copy is to be told everything, and nothing that is on its way stands before that. */
  boolean wantsEverything() {
    return wanted && sent == 0;
  }

  /** Whether changes are of use to the copy: it has been told what they are changes of. */
  boolean listens() {
    return telling;
  }

  /** Which telling of the worker the copy is in the middle of. */
  public long stream() {
    return stream;
  }

  /** Begins to tell everything. */
  void begin() {
    stream = ThreadLocalRandom.current().nextLong();
    next = 0;
    frames.clear();
    waitingBytes = 0;
    wanted = false;
    telling = false;
    warm = false;
    wholeNumber = Long.MAX_VALUE;
    resentFrom = -1;
    confirmed = told;
    movedNanos = nanos.getAsLong();
    show();
  }

  /** A piece of everything. */
  void piece(byte[] payload) {
    add(new Frame(payload, true, false, told, nanos.getAsLong()));
  }

  /** The last piece of everything: changes follow. */
  void whole(byte[] payload) {
    wholeNumber = next + frames.size();
    telling = true;
    piece(payload);
  }

  /**
   * Changes.
   *
   * @param finishes whether the batch that brought them ends with these
   * @param events that it had, when it does
   */
  void change(byte[] payload, boolean finishes, int events) {
    told += events;
    waitingBytes += payload.length;
    if (waitingBytes > MOST_WAITING) {
      again();
    } else {
      add(new Frame(payload, finishes, true, told, nanos.getAsLong()));
    }
  }

  /** Drops what has not been sent: the copy is told everything anew. */
  void again() {
    while (frames.size() > sent) {
      frames.removeLast();
    }
    waitingBytes = 0;
    for (Frame frame : frames) {
      waitingBytes += frame.change() ? frame.payload().length : 0;
    }
    telling = false;
    wanted = true;
    show();
  }

  /**
   * The copy says how far it has come.
   *
   * @param of the stream it speaks of
   * @param expected number of the frame it expects next
   * @param missing whether it has seen a later one
   * @return how many frames were sent again
   */
  public int confirmed(long of, long expected, boolean missing) {
    if (of != stream || expected < next) {
      if (of == stream && expected == 0 && missing) {
        // What it had confirmed is gone.
        frames.clear();
        sent = 0;
        again();
      }
      return 0;
    }
    boolean moved = expected > next;
    while (next < expected && sent > 0) {
      Frame done = frames.removeFirst();
      next++;
      sent--;
      confirmed = done.told();
      waitingBytes -= done.change() ? done.payload().length : 0;
    }
    warm |= next > wholeNumber;
    if (moved) {
      movedNanos = nanos.getAsLong();
    }
    int again = 0;
    if (missing && resentFrom != next) {
      // What is on its way behind the loss will report it, too.
      resentFrom = next;
      again = resend();
    }
    send();
    show();
    return again;
  }

  /** Sends again what has found no answer for long; returns how many frames. */
  public int check() {
    int again = 0;
    if (sent > 0 && nanos.getAsLong() - movedNanos > SILENCE_NANOS) {
      movedNanos = nanos.getAsLong();
      again = resend();
    }
    show();
    return again;
  }

  private void add(Frame frame) {
    frames.addLast(frame);
    send();
    show();
  }

  private void send() {
    if (sent == 0) {
      movedNanos = nanos.getAsLong();
    }
    int at = 0;
    for (Frame frame : frames) {
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
    for (Frame frame : frames) {
      if (at < sent) {
        send(at++, frame);
      }
    }
    return sent;
  }

  private void send(int at, Frame frame) {
    way.send(stream, next + at, frame.finishes(), frame.payload());
  }

  private void show() {
    Frame oldest = frames.peekFirst();
    progress.is(warm && !wanted, told - confirmed, oldest == null ? nanos.getAsLong() : oldest.madeNanos());
  }
}
