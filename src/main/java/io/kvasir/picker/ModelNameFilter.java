package io.kvasir.picker;

import io.kvasir.http.ByteSink;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Puts the name of a model that a client has asked for in place of the one that it got, wherever a response's JSON has
 * {@code "model": "…"}, also where pieces split it. Inside texts quotes are escaped, so what a model says is left as
 * it is. Not thread-safe.
 */
final class ModelNameFilter {
  private static final byte[] KEY = "\"model\"".getBytes(StandardCharsets.US_ASCII);

  /** So many bytes are held at most: whoever puts that many blanks there wants memory, not another name. */
  private static final int MOST_HELD = 4096;

  private enum Place { KEY, COLON, VALUE, NAME }

  private final ByteSink next;
  private final byte[] name;
  private final byte[] replacement;

  /** What has been read of a member that may be the one, and not been passed on. */
  private byte[] held = new byte[64];

  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private int length;
  private Place place = Place.KEY;
  private int matched;

  /**
   * A filter of one response.
   *
   * @param served the name in it, as JSON writes it, with quotes
   * @param asked the name that the client gets, likewise
   */
  ModelNameFilter(ByteSink next, String served, String asked) {
    this.next = next;
    this.name = served.getBytes(StandardCharsets.UTF_8);
    this.replacement = asked.getBytes(StandardCharsets.UTF_8);
  }

  /** Passes on what cannot be part of the name; the rest is held until it is known. */
  void write(byte[] bytes, int offset, int count) throws IOException {
    int end = offset + count;
    int passed = offset;
    for (int at = offset; at < end; at++) {
      byte b = bytes[at];
      if (length == 0) {
        if (b == '"') {
          next(bytes, passed, at);
          hold(b);
          matched = 1;
          passed = at + 1;
        }
        continue;
      }
      passed = at + 1;
      if (!follows(b)) {
        release();
        // It may be the beginning of the next one.
        if (b == '"') {
          hold(b);
          matched = 1;
        } else {
          passed = at;
        }
      }
    }
    next(bytes, passed, end);
    flush();
  }

  /** The response has ended. */
  void end() throws IOException {
    release();
    flush();
  }

  private void flush() throws IOException {
    if (out.size() > 0) {
      next.write(out.toByteArray(), 0, out.size());
      out.reset();
    }
  }

  /** Takes a byte that goes on with the member; false when it does not. */
  private boolean follows(byte b) {
    if (length == MOST_HELD) {
      return false;
    }
    switch (place) {
      case KEY -> {
        if (b != KEY[matched]) {
          return false;
        }
        hold(b);
        if (++matched == KEY.length) {
          place = Place.COLON;
        }
      }
      case COLON -> {
        if (b != ':' && !isBlank(b)) {
          return false;
        }
        hold(b);
        place = b == ':' ? Place.VALUE : Place.COLON;
      }
      case VALUE -> {
        if (b != '"' && !isBlank(b)) {
          return false;
        }
        if (b == '"') {
          place = Place.NAME;
          // The name is held apart from what stands before it.
          out.write(held, 0, length);
          length = 0;
          matched = 1;
        }
        hold(b);
      }
      case NAME -> {
        if (b != name[matched]) {
          return false;
        }
        hold(b);
        if (++matched == name.length) {
          length = 0;
          place = Place.KEY;
          out.write(replacement, 0, replacement.length);
        }
      }
    }
    return true;
  }

  private static boolean isBlank(byte b) {
    return b == ' ' || b == '\t' || b == '\n' || b == '\r';
  }

  private void hold(byte b) {
    if (length == held.length) {
      held = Arrays.copyOf(held, 2 * length);
    }
    held[length++] = b;
  }

  private void release() {
    out.write(held, 0, length);
    length = 0;
    matched = 0;
    place = Place.KEY;
  }

  private void next(byte[] bytes, int from, int to) {
    out.write(bytes, from, to - from);
  }
}
