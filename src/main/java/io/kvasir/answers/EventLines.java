package io.kvasir.answers;

import java.nio.charset.StandardCharsets;

/**
 * The events of a whole server-sent stream. Only what engines write: data of one line; an event whose data has several
 * lines is given line by line, and an unfinished last line is an event too.
 */
record EventLines(byte[] body) {
  /** Takes one event's name (empty without one) and its data, {@code body[from, to)}. */
  @FunctionalInterface
  interface EventConsumer {
    void accept(String name, int from, int to);
  }

  void forEach(EventConsumer taker) {
    String name = "";
    int at = 0;
    while (at < body.length) {
      int end = at;
      while (end < body.length && body[end] != '\n' && body[end] != '\r') {
        end++;
      }
      if (end == at) {
        name = "";
      } else if (startsWith(at, end, "data:")) {
        taker.accept(name, value(at + 5, end), end);
      } else if (startsWith(at, end, "event:")) {
        int from = value(at + 6, end);
        name = new String(body, from, end - from, StandardCharsets.UTF_8);
      }
      // A line may end with CR and LF: only the pair together is one end.
      at = end + (end + 1 < body.length && body[end] == '\r' && body[end + 1] == '\n' ? 2 : 1);
    }
  }

  private int value(int from, int end) {
    return from < end && body[from] == ' ' ? from + 1 : from;
  }

  private boolean startsWith(int at, int end, String field) {
    if (end - at < field.length()) {
      return false;
    }
    for (int i = 0; i < field.length(); i++) {
      if (body[at + i] != field.charAt(i)) {
        return false;
      }
    }
    return true;
  }
}
