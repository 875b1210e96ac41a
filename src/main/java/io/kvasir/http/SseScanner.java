package io.kvasir.http;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Splits a stream of server-sent events as WHATWG defines them: lines end with CR, LF or both, lines that begin with a
 * colon are comments, several {@code data} lines make one event's data, a blank line ends the event. The bytes may be
 * cut anywhere; they are neither kept nor changed, and nothing is allocated. One thread at a time.
 */
public final class SseScanner {
  /** Receives what a scanner finds, while it scans. */
  public interface Listener {
    /** The event's data begins. */
    void dataStarted();

    /** The next bytes of the event's data, {@code bytes[from, to)}; its lines are joined by LF. */
    void data(byte[] bytes, int from, int to);

    /**
     * The event is complete; the scanner still has its name.
     *
     * @param hasData whether it has data: a browser ignores one without
     */
    void eventEnded(boolean hasData);
  }

  /** Where in a line the next byte is. */
  private enum LinePosition {
    FIELD,
    /** After the colon, where one space is not part of the value. */
    SPACE,
    VALUE
  }

  /** The field whose value a line gives. */
  private enum Field {
    DATA,
    EVENT,
    OTHER
  }

  private static final int MAX_FIELD = 8;
  /** Longer names are cut: no API has one. */
  private static final int MAX_NAME = 64;
  private static final byte[] NEWLINE = {'\n'};
  private static final byte[] DATA = "data".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] EVENT = "event".getBytes(StandardCharsets.US_ASCII);

  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long ONES = 0x0101010101010101L;

  private final Listener listener;
  private final byte[] fieldName = new byte[MAX_FIELD];
  private final byte[] eventName = new byte[MAX_NAME];

  private LinePosition position = LinePosition.FIELD;
  private Field field = Field.OTHER;
  private boolean afterCarriageReturn;
  private int fieldLength;
  private int nameLength;
  private boolean hasData;

  public SseScanner(Listener listener) {
    this.listener = listener;
  }

  /** Scans {@code bytes[from, to)}. */
  public void accept(byte[] bytes, int from, int to) {
    int at = from;
    while (at >= 0 && at < to) {
      at = acceptEvent(bytes, at, to);
    }
  }

  /** Scans bytes to the end of the first event in them; returns that end, -1 when it is not among them. */
  public int acceptEvent(byte[] bytes, int from, int to) {
    int at = from;
    while (at < to) {
      switch (position) {
        case FIELD -> {
          byte c = bytes[at++];
          if (c == '\n' && afterCarriageReturn) {
            // The second half of a line's end.
            afterCarriageReturn = false;
          } else if (c == '\n' || c == '\r') {
            boolean blank = fieldLength == 0;
            endLine(c);
            if (blank) {
              endEvent();
              return at;
            }
          } else {
            afterCarriageReturn = false;
            if (c == ':') {
              position = LinePosition.SPACE;
              startValue();
            } else {
              // A name too long to be one of ours is recognised by its length alone.
              fieldName[Math.min(fieldLength, MAX_FIELD - 1)] = c;
              fieldLength++;
            }
          }
        }
        case SPACE -> {
          position = LinePosition.VALUE;
          if (bytes[at] == ' ') {
            at++;
          }
        }
        case VALUE -> {
          int end = endOfLine(bytes, at, to);
          value(bytes, at, end);
          if (end < to) {
            endLine(bytes[end]);
            end++;
          }
          at = end;
        }
      }
    }
    return -1;
  }

  /** Ends the stream. Some engines leave out the blank line after the last event, so this ends that, too. */
  public void end() {
    position = LinePosition.FIELD;
    fieldLength = 0;
    endEvent();
  }

  /** The name of the event, empty without one. */
  public String name() {
    return new String(eventName, 0, nameLength, StandardCharsets.UTF_8);
  }

  /** Whether the event has this name; allocates nothing. */
  public boolean nameIs(byte[] name) {
    return is(eventName, nameLength, name);
  }

  private void startValue() {
    if (is(fieldName, fieldLength, DATA)) {
      field = Field.DATA;
      if (hasData) {
        listener.data(NEWLINE, 0, 1);
      } else {
        hasData = true;
        listener.dataStarted();
      }
    } else if (is(fieldName, fieldLength, EVENT)) {
      field = Field.EVENT;
      nameLength = 0;
    } else {
      field = Field.OTHER;
    }
  }

  private void value(byte[] bytes, int from, int to) {
    switch (field) {
      case DATA -> {
        if (from < to) {
          listener.data(bytes, from, to);
        }
      }
      case EVENT -> {
        int taken = Math.min(to - from, MAX_NAME - nameLength);
        System.arraycopy(bytes, from, eventName, nameLength, taken);
        nameLength += taken;
      }
      case OTHER -> {
        // A comment, an id, a retry time: no API uses them.
      }
    }
  }

  private void endLine(byte c) {
    afterCarriageReturn = c == '\r';
    position = LinePosition.FIELD;
    fieldLength = 0;
  }

  private void endEvent() {
    listener.eventEnded(hasData);
    hasData = false;
    nameLength = 0;
  }

  /** The first end of a line in {@code bytes[from, to)}, {@code to} without one; eight bytes at a time. */
  private static int endOfLine(byte[] bytes, int from, int to) {
    int at = from;
    for (; at <= to - Long.BYTES; at += Long.BYTES) {
      long eight = (long) LONGS.get(bytes, at);
      long found = zeroBytes(eight ^ '\n' * ONES) | zeroBytes(eight ^ '\r' * ONES);
      if (found != 0) {
        return at + Long.numberOfTrailingZeros(found) / Byte.SIZE;
      }
    }
    while (at < to && bytes[at] != '\n' && bytes[at] != '\r') {
      at++;
    }
    return at;
  }

  /** The high bit of each byte that is 0; of the bytes above the first of them perhaps also of others. */
  private static long zeroBytes(long bytes) {
    return (bytes - ONES) & ~bytes & (ONES << (Byte.SIZE - 1));
  }

  private static boolean is(byte[] text, int length, byte[] name) {
    return length == name.length && Arrays.equals(text, 0, length, name, 0, length);
  }
}
