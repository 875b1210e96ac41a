package io.kvasir.execution.stream;

import io.kvasir.cell.Outcome;
import io.kvasir.http.Headers;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;

/**
 * Watches an answer's bytes go by and remembers what the router must know of it: that the first token
 * has come, what the engine counted, an error told inside a stream, and whether the answer came to its
 * own end. The bytes may be cut anywhere; they are neither kept nor changed, and nothing is allocated.
 *
 * <p>An event stream is read as WHATWG's server-sent events are (lines ended by CR, LF or both,
 * comments, several {@code data} lines joined), in the dialects of OpenAI's chat, completions and
 * Responses APIs and of Anthropic's Messages. One thread at a time.
 */
public final class AnswerTap {
  /** What the answer's bytes are. */
  public enum Form {
    /** Server-sent events. */
    EVENTS,
    /** One JSON document. */
    JSON,
    /** Anything else: only its first byte is noticed. */
    OPAQUE
  }

  /** Where in a line the next byte is. */
  private enum LinePosition {
    FIELD,
    /** After the colon, where one space is not part of the value. */
    SPACE,
    VALUE
  }

  /** Whose value a line gives. */
  private enum EventField {
    DATA,
    EVENT,
    OTHER
  }

  private static final int MAX_FIELD = 8;
  private static final int MAX_NAME = 64;
  private static final byte[] NEWLINE = {'\n'};
  private static final byte[] DATA = ascii("data");
  private static final byte[] EVENT = ascii("event");
  private static final byte[] DONE = ascii("[DONE]");
  private static final byte[][] ENDS =
      {ascii("message_stop"), ascii("response.completed"), ascii("response.incomplete")};
  private static final byte[][] FAILURES = {ascii("error"), ascii("response.failed")};
  /** Events that come before there is anything to show. */
  private static final byte[][] LIFECYCLES = {
    ascii("ping"), ascii("message_start"), ascii("response.created"), ascii("response.queued"),
    ascii("response.in_progress")
  };

  private final Form form;
  private final JsonScan scan = new JsonScan();
  private final byte[] fieldName = new byte[MAX_FIELD];
  private final byte[] eventName = new byte[MAX_NAME];

  private LinePosition line = LinePosition.FIELD;
  private EventField field = EventField.OTHER;
  private boolean afterCarriageReturn;
  private int fieldLength;
  private int nameLength;
  private boolean hasData;
  /** How much of {@link #DONE} the event's data has matched; -1 when it is something else. */
  private int done;

  private int events;
  private boolean content;
  private boolean ended;
  private boolean failed;
  private boolean usageOnly;

  public AnswerTap(Form form) {
    this.form = form;
  }

  /** The form of a body with these headers; one that is compressed cannot be looked into. */
  public static Form formOf(Headers headers) {
    String type = headers.first("Content-Type");
    String encoding = headers.first("Content-Encoding");
    if (type == null || (encoding != null && !encoding.equalsIgnoreCase("identity"))) {
      return Form.OPAQUE;
    }
    int parameters = type.indexOf(';');
    String bare = parameters < 0 ? type : type.substring(0, parameters);
    return switch (bare.strip().toLowerCase(Locale.ROOT)) {
      case "text/event-stream" -> Form.EVENTS;
      case "application/json" -> Form.JSON;
      default -> Form.OPAQUE;
    };
  }

  /** What the bytes are. */
  public Form form() {
    return form;
  }

  /** Watches {@code bytes[from, to)} pass. */
  public void accept(byte[] bytes, int from, int to) {
    switch (form) {
      case EVENTS -> {
        int at = from;
        while (at < to) {
          at = acceptLine(bytes, at, to);
        }
      }
      case JSON -> {
        content |= to > from;
        scan.accept(bytes, from, to);
      }
      case OPAQUE -> content |= to > from;
    }
  }

  /** Watches an event stream's bytes to the end of the first event in them; returns that end, -1 without one. */
  int acceptEvent(byte[] bytes, int from, int to) {
    int before = events;
    int at = from;
    while (at < to) {
      at = acceptLine(bytes, at, to);
      if (events != before) {
        return at;
      }
    }
    return -1;
  }

  /** The body is over. */
  public void end() {
    switch (form) {
      // Some engines leave out the blank line after the last event.
      case EVENTS -> dispatch();
      case JSON -> {
        ended = scan.complete();
        failed |= scan.error();
      }
      case OPAQUE -> ended = true;
    }
  }

  /** Whether something of the answer itself has come. */
  public boolean firstToken() {
    return content;
  }

  /** Whether the answer reached its own end: its terminator, or a whole document. */
  public boolean ended() {
    return ended;
  }

  /** Whether the answer told of an error. */
  public boolean failed() {
    return failed;
  }

  /** Whether the last event carried usage and no choice: what {@code include_usage} adds to a stream. */
  boolean usageOnly() {
    return usageOnly;
  }

  /** The answer's id, empty when it has not been seen. */
  public String id() {
    return scan.id();
  }

  /** Tokens of the prompt as the engine counted them, or {@link Outcome#UNKNOWN}. */
  public int promptTokens() {
    return count(scan.promptTokens());
  }

  /** Tokens of the prompt the engine found in its cache, or {@link Outcome#UNKNOWN}. */
  public int cachedTokens() {
    return count(scan.cachedTokens());
  }

  /** Tokens generated, or {@link Outcome#UNKNOWN}. */
  public int outputTokens() {
    return count(scan.outputTokens());
  }

  private static int count(long tokens) {
    return tokens < 0 || tokens > Integer.MAX_VALUE ? Outcome.UNKNOWN : (int) tokens;
  }

  private int acceptLine(byte[] bytes, int from, int to) {
    byte c = bytes[from];
    if (afterCarriageReturn) {
      afterCarriageReturn = false;
      if (c == '\n') {
        return from + 1;
      }
    }
    return switch (line) {
      case FIELD -> {
        if (c == '\n' || c == '\r') {
          if (fieldLength == 0) {
            dispatch();
          }
          endLine(c);
        } else if (c == ':') {
          line = LinePosition.SPACE;
          startValue();
        } else {
          // A name too long to be ours is told by its length alone.
          fieldName[Math.min(fieldLength, MAX_FIELD - 1)] = c;
          fieldLength++;
        }
        yield from + 1;
      }
      case SPACE -> {
        line = LinePosition.VALUE;
        yield c == ' ' ? from + 1 : from;
      }
      case VALUE -> {
        int end = endOfLine(bytes, from, to);
        value(bytes, from, end);
        if (end < to) {
          endLine(bytes[end]);
        }
        yield Math.min(end + 1, to);
      }
    };
  }

  private void startValue() {
    if (is(fieldName, fieldLength, DATA)) {
      field = EventField.DATA;
      if (hasData) {
        done = -1;
        scan.accept(NEWLINE, 0, 1);
      } else {
        hasData = true;
        done = 0;
        scan.reset();
      }
    } else if (is(fieldName, fieldLength, EVENT)) {
      field = EventField.EVENT;
      nameLength = 0;
    } else {
      field = EventField.OTHER;
    }
  }

  private void value(byte[] bytes, int from, int to) {
    switch (field) {
      case DATA -> {
        if (done >= 0) {
          matchDone(bytes, from, to);
        }
        scan.accept(bytes, from, to);
      }
      case EVENT -> {
        int taken = Math.min(to - from, MAX_NAME - nameLength);
        System.arraycopy(bytes, from, eventName, nameLength, taken);
        nameLength += taken;
      }
      case OTHER -> {
        // A comment, an id, a retry time.
      }
    }
  }

  private void matchDone(byte[] bytes, int from, int to) {
    for (int at = from; at < to && done >= 0; at++) {
      done = done < DONE.length && bytes[at] == DONE[done] ? done + 1
          : done == DONE.length && bytes[at] == ' ' ? done
          : -1;
    }
  }

  private void endLine(byte c) {
    afterCarriageReturn = c == '\r';
    line = LinePosition.FIELD;
    fieldLength = 0;
  }

  /** The event is complete, or the stream is. */
  private void dispatch() {
    events++;
    usageOnly = false;
    if (hasData) {
      usageOnly = scan.usageOnly();
      if (done == DONE.length) {
        ended = true;
      } else if (scan.error() || is(FAILURES)) {
        failed = true;
      } else if (is(ENDS)) {
        ended = true;
      } else if (!is(LIFECYCLES)) {
        content = true;
      }
    }
    hasData = false;
    nameLength = 0;
  }

  private boolean is(byte[][] names) {
    for (byte[] candidate : names) {
      if (scan.hasType() ? scan.typeIs(candidate) : is(eventName, nameLength, candidate)) {
        return true;
      }
    }
    return false;
  }

  private static boolean is(byte[] text, int length, byte[] name) {
    return length == name.length && Arrays.equals(text, 0, length, name, 0, length);
  }

  private static int endOfLine(byte[] bytes, int from, int to) {
    int at = from;
    while (at < to && bytes[at] != '\n' && bytes[at] != '\r') {
      at++;
    }
    return at;
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}
