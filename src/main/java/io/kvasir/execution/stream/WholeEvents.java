package io.kvasir.execution.stream;

import io.kvasir.http.ByteSink;
import java.io.IOException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Passes an event stream on in whole events, each as it came or as an {@link Editor} will have it. An event is held
 * until it is whole, or longer than may be held: then it passes as it comes. One thread at a time.
 */
final class WholeEvents implements BodyFilter, AutoCloseable {
  /** Decides about events. */
  @FunctionalInterface
  interface Editor {
    /** What stands for an event that is kept from the client. */
    byte[] NOTHING = {};

    /** What the client gets for {@code bytes[from, to)}, an event the tap has read; null for the same bytes. */
    byte @Nullable [] edit(byte[] bytes, int from, int to) throws IOException;
  }

  /** Bytes that a stream has for what it holds, besides events that are longer. */
  private static final int KEPT = 1 << 10;

  private static final int MOST_KEPT = 64 << 10;

  private final ByteSink client;
  private final AnswerTap tap;
  private final int maxHeld;
  private final @Nullable TextBudget budget;
  private final Editor editor;
  private byte[] pending = new byte[KEPT];
  private int length;
  /** Whether a part of the current event has been written to the client. */
  private boolean passThrough;
  private boolean hadLong;
  private boolean tapEnded;

  /**
   * A stream about to begin.
   *
   * @param tap an event stream's: nobody else shows it the bytes, nor their end
   * @param maxHeld bytes of an event that are held
   * @param budget for what is held beyond the first {@value #KEPT} bytes; null for none, where {@code maxHeld} is small
   */
  WholeEvents(ByteSink client, AnswerTap tap, int maxHeld, @Nullable TextBudget budget, Editor editor) {
    this.client = client;
    this.tap = tap;
    this.maxHeld = maxHeld;
    this.budget = budget;
    this.editor = editor;
  }

  @Override
  public void write(byte[] bytes, int offset, int count) throws IOException {
    int to = offset + count;
    int from = offset;
    // Events that pass in a row go to the client in one write.
    int unwritten = offset;
    while (from < to) {
      int end = tap.acceptEvent(bytes, from, to);
      if (end < 0) {
        flush(bytes, unwritten, from);
        hold(bytes, from, to);
        return;
      }
      if (length > 0) {
        if (append(bytes, from, end)) {
          edit();
        } else {
          passLong(bytes, from, end);
        }
        unwritten = end;
      } else if (!passThrough) {
        byte[] instead = editor.edit(bytes, from, end);
        if (instead != null) {
          flush(bytes, unwritten, from);
          flush(instead, 0, instead.length);
          unwritten = end;
        }
      }
      passThrough = false;
      from = end;
    }
    flush(bytes, unwritten, to);
  }

  /** The stream is over: an event without its end is one, too. */
  @Override
  public void end() throws IOException {
    endTap();
    if (length > 0) {
      edit();
    }
  }

  /** Has the tap learn that the bytes are over, as they may be within an event, which is still held. Idempotent. */
  void endTap() {
    if (!tapEnded) {
      tapEnded = true;
      tap.end();
    }
  }

  /** The stream is over, and these bytes were missing of the event that is held. */
  void endWith(byte[] missing, int from, int to) throws IOException {
    if (append(missing, from, to)) {
      end();
    }
  }

  /** Whether an event was too long to be held, and has passed unseen by the editor. */
  boolean hadLong() {
    return hadLong;
  }

  /** A copy of the event that is held, as far as it has come. */
  byte[] held() {
    return Arrays.copyOf(pending, length);
  }

  private void edit() throws IOException {
    byte[] instead = editor.edit(pending, 0, length);
    if (instead == null) {
      flush(pending, 0, length);
    } else {
      flush(instead, 0, instead.length);
    }
    release();
  }

  private void release() {
    length = 0;
    if (pending.length > MOST_KEPT) {
      close();
    }
  }

  /** Gives back what is held, which is lost then. Idempotent. */
  @Override
  public void close() {
    if (budget != null) {
      budget.give(pending.length - KEPT);
    }
    pending = new byte[KEPT];
    length = 0;
  }

  private void flush(byte[] bytes, int from, int to) throws IOException {
    if (to > from) {
      client.write(bytes, from, to - from);
    }
  }

  private void hold(byte[] bytes, int from, int to) throws IOException {
    if (passThrough || !append(bytes, from, to)) {
      passLong(bytes, from, to);
      passThrough = true;
    }
  }

  /** Passes an event that is too long to be held, as far as it has come. */
  private void passLong(byte[] bytes, int from, int to) throws IOException {
    flush(pending, 0, length);
    flush(bytes, from, to);
    release();
    hadLong = true;
  }

  /** Holds more of an event; false when that is too much. */
  private boolean append(byte[] bytes, int from, int to) {
    int needed = length + to - from;
    if (needed > pending.length) {
      int grown = Math.max(2 * pending.length, needed);
      if (needed > maxHeld || (budget != null && !budget.tryTake(grown - pending.length))) {
        return false;
      }
      pending = Arrays.copyOf(pending, grown);
    }
    System.arraycopy(bytes, from, pending, length, to - from);
    length = needed;
    return true;
  }
}
