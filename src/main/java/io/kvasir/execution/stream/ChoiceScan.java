package io.kvasir.execution.stream;

import io.kvasir.execution.stream.ChoiceListener.Part;
import java.nio.charset.StandardCharsets;

/**
 * Reads the {@code choices} of an answer, or of an event of one, byte by byte as they pass: the texts of OpenAI's
 * completions ({@code text}) and of its chat's events ({@code delta.content}), what else a {@code delta} has, and why a
 * choice ended. What is deeper is skipped, and so is what is no JSON. Allocates nothing. One thread at a time.
 */
final class ChoiceScan {
  private static final int MAX_NAME = 32;
  private static final byte[] TEXT = ascii("text");
  private static final byte[] DELTA = ascii("delta");
  private static final byte[] INDEX = ascii("index");
  private static final byte[] FINISH_REASON = ascii("finish_reason");
  private static final byte[] ROLE = ascii("role");
  private static final byte[] CONTENT = ascii("content");
  private static final byte[] TOOL_CALLS = ascii("tool_calls");
  private static final byte[] FUNCTION_CALL = ascii("function_call");
  private static final byte[] REASONING = ascii("reasoning");
  private static final byte[] REASONING_CONTENT = ascii("reasoning_content");

  /** Containers that are open within a choice, and within its delta; that of all choices is not counted. */
  private static final int IN_CHOICE = 1;
  private static final int IN_DELTA = 2;

  /** What the value after a name is to us. */
  private enum Member {
    NOTHING,
    INDEX,
    DELTA,
    TEXT,
    FINISH_REASON,
    ROLE,
    TOOL_CALL,
    REASONING,
    OTHER
  }

  private final ChoiceListener listener;
  private final ShortText name = new ShortText(MAX_NAME);

  private Member member = Member.NOTHING;
  private int depth;
  private boolean empty;
  private boolean over;
  private boolean inDelta;
  private boolean inString;
  private boolean escaped;
  private boolean afterColon;

  ChoiceScan(ChoiceListener listener) {
    this.listener = listener;
  }

  /** Begins behind the bracket that opens the choices. */
  void begin() {
    member = Member.NOTHING;
    depth = 0;
    empty = true;
    over = false;
    inDelta = false;
    inString = false;
    escaped = false;
    afterColon = false;
  }

  /** Reads on in {@code bytes[from, to)}; returns where the choices end, {@code to} when they go on. */
  int accept(byte[] bytes, int from, int to) {
    int at = from;
    while (at < to && !over) {
      if (inString) {
        at = string(bytes, at, to);
      } else {
        step(bytes[at]);
        at++;
      }
    }
    return at;
  }

  /** Whether the bracket that closes the choices has been read. */
  boolean over() {
    return over;
  }

  /** Whether there is nothing in them so far. */
  boolean empty() {
    return empty;
  }

  private void step(byte c) {
    switch (c) {
      case '"' -> {
        inString = true;
        empty = false;
        if (depth > IN_DELTA) {
          notePart();
        }
        if (!afterColon || member == Member.FINISH_REASON) {
          name.clear();
        }
      }
      case ':' -> {
        afterColon = true;
        member = depth == IN_CHOICE ? choiceMember()
            : depth == IN_DELTA && inDelta ? deltaMember()
            : member;
      }
      case ',' -> valueOver();
      case '{', '[' -> {
        empty = false;
        inDelta |= depth == IN_CHOICE && member == Member.DELTA;
        if (member == Member.TEXT) {
          // In parts, not one text.
          member = Member.OTHER;
        }
        if (depth > IN_DELTA || (c == '{' && depth == IN_DELTA)) {
          notePart();
        }
        depth++;
        afterColon = false;
      }
      case '}', ']' -> {
        depth--;
        inDelta &= depth >= IN_DELTA;
        over = depth < 0;
        valueOver();
      }
      default -> {
        if (member == Member.INDEX && depth == IN_CHOICE && afterColon && c >= '1' && c <= '9') {
          listener.part(Part.ANOTHER);
        }
      }
    }
  }

  private void valueOver() {
    afterColon = false;
    if (depth <= IN_CHOICE || (depth == IN_DELTA && inDelta)) {
      member = Member.NOTHING;
    }
  }

  private int string(byte[] bytes, int from, int to) {
    int end = endOfString(bytes, from, to);
    if (!afterColon) {
      name.add(bytes, from, end);
    } else if (end > from) {
      value(bytes, from, end);
    }
    if (end == to) {
      return to;
    }
    inString = false;
    // Some engines have an empty reason in every event before the last.
    if (afterColon && member == Member.FINISH_REASON && !name.isEmpty()) {
      listener.part(Part.END);
      if (!name.isCut()) {
        listener.finished(name.bytes(), name.length());
      }
    }
    return end + 1;
  }

  private void value(byte[] bytes, int from, int to) {
    switch (member) {
      case TEXT -> listener.text(bytes, from, to);
      case FINISH_REASON -> name.add(bytes, from, to);
      default -> notePart();
    }
  }

  private int endOfString(byte[] bytes, int from, int to) {
    for (int at = from; at < to; at++) {
      if (escaped) {
        escaped = false;
      } else if (bytes[at] == '\\') {
        escaped = true;
      } else if (bytes[at] == '"') {
        return at;
      }
    }
    return to;
  }

  private void notePart() {
    switch (member) {
      case ROLE -> listener.part(Part.ROLE);
      case TOOL_CALL -> listener.part(Part.TOOL_CALL);
      case REASONING -> listener.part(Part.REASONING);
      case OTHER -> listener.part(Part.OTHER);
      case NOTHING, INDEX, DELTA, TEXT, FINISH_REASON -> {
        // Not in a delta, or told otherwise.
      }
    }
  }

  private Member choiceMember() {
    return name.is(DELTA) ? Member.DELTA
        : name.is(TEXT) ? Member.TEXT
        : name.is(FINISH_REASON) ? Member.FINISH_REASON
        : name.is(INDEX) ? Member.INDEX
        : Member.NOTHING;
  }

  private Member deltaMember() {
    return name.is(CONTENT) ? Member.TEXT
        : name.is(ROLE) ? Member.ROLE
        : name.is(TOOL_CALLS) || name.is(FUNCTION_CALL) ? Member.TOOL_CALL
        : name.is(REASONING) || name.is(REASONING_CONTENT) ? Member.REASONING
        : Member.OTHER;
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}
