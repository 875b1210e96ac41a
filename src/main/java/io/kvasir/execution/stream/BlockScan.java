package io.kvasir.execution.stream;

import io.kvasir.execution.stream.ChoiceListener.Part;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Reads the events of Anthropic's Messages API, each whole, for what they add to an answer: its text, that of one
 * block, and what else it has. What is deeper than the members of {@code delta} and {@code content_block} is skipped.
 * Allocates nothing. One thread at a time.
 */
final class BlockScan {
  private static final byte[] TYPE = ascii("type");
  private static final byte[] INDEX = ascii("index");
  private static final byte[] DELTA = ascii("delta");
  private static final byte[] CONTENT_BLOCK = ascii("content_block");
  private static final byte[] TEXT = ascii("text");
  private static final byte[] STOP_REASON = ascii("stop_reason");
  private static final byte[] MESSAGE_START = ascii("message_start");
  private static final byte[] BLOCK_START = ascii("content_block_start");
  private static final byte[] BLOCK_DELTA = ascii("content_block_delta");
  private static final byte[] BLOCK_STOP = ascii("content_block_stop");
  private static final byte[] MESSAGE_DELTA = ascii("message_delta");
  private static final byte[] TEXT_DELTA = ascii("text_delta");
  private static final byte[] TOOL_USE = ascii("tool_use");
  private static final byte[] JSON_DELTA = ascii("input_json_delta");
  private static final byte[] THINKING = ascii("thinking");
  private static final byte[] REDACTED = ascii("redacted_thinking");
  private static final byte[] THINKING_DELTA = ascii("thinking_delta");
  private static final byte[] SIGNATURE_DELTA = ascii("signature_delta");
  private static final int NO_BLOCK = -1;

  /** A string of the event, without its quotes. */
  private static final class Range {
    int from;
    int to;

    void set(int begin, int end) {
      from = begin;
      to = end;
    }

    boolean is(byte[] bytes, byte[] expected) {
      return Arrays.equals(bytes, from, to, expected, 0, expected.length);
    }

    boolean isEmpty() {
      return from == to;
    }
  }

  private final ChoiceListener listener;
  private final Range key = new Range();
  private final Range type = new Range();
  private final Range innerType = new Range();
  private final Range text = new Range();
  private final Range stopReason = new Range();
  private int index;
  private int block = NO_BLOCK;

  BlockScan(ChoiceListener listener) {
    this.listener = listener;
  }

  /** The number of the block of text that has begun; −1 for none. */
  int block() {
    return block;
  }

  /** Whether the event that was read last begins the message. */
  boolean startsMessage(byte[] bytes) {
    return type.is(bytes, MESSAGE_START);
  }

  /** Whether the event that was read last begins a block of text. */
  boolean startsText(byte[] bytes) {
    return type.is(bytes, BLOCK_START) && innerType.is(bytes, TEXT) && text.isEmpty();
  }

  /** The number of the block that the event that was read last is about. */
  int index() {
    return index;
  }

  /** Reads an event without adding it to the answer. */
  void read(byte[] bytes, int from, int to) {
    type.set(0, 0);
    innerType.set(0, 0);
    text.set(0, 0);
    stopReason.set(0, 0);
    index = 0;
    int depth = 0;
    boolean followed = false;
    boolean value = false;
    int at = from;
    // Before its data an event has no brace.
    while (at < to && bytes[at] != '{') {
      at++;
    }
    for (; at < to; at++) {
      byte c = bytes[at];
      switch (c) {
        case '"' -> {
          int end = endOfString(bytes, at + 1, to);
          if (!value) {
            key.set(at + 1, end);
          } else if (depth == 1 && is(bytes, TYPE)) {
            type.set(at + 1, end);
          } else if (depth == 2 && followed) {
            member(bytes, at + 1, end);
          }
          at = end;
        }
        case ':' -> value = true;
        case ',' -> value = false;
        case '{', '[' -> {
          followed = depth == 1 ? c == '{' && (is(bytes, DELTA) || is(bytes, CONTENT_BLOCK)) : followed;
          depth++;
          value = false;
        }
        case '}', ']' -> {
          depth--;
          value = false;
        }
        default -> {
          if (depth == 1 && value && c >= '0' && c <= '9' && is(bytes, INDEX)) {
            index = index * 10 + (c - '0');
          }
        }
      }
    }
  }

  private boolean is(byte[] bytes, byte[] name) {
    return key.is(bytes, name);
  }

  private void member(byte[] bytes, int from, int to) {
    if (is(bytes, TYPE)) {
      innerType.set(from, to);
    } else if (is(bytes, TEXT)) {
      text.set(from, to);
    } else if (is(bytes, STOP_REASON)) {
      stopReason.set(from, to);
    }
  }

  /** Adds the event that was read last. */
  void note(byte[] bytes) {
    if (type.is(bytes, MESSAGE_START)) {
      listener.part(Part.ROLE);
    } else if (type.is(bytes, BLOCK_START)) {
      start(bytes);
    } else if (type.is(bytes, BLOCK_DELTA)) {
      delta(bytes);
    } else if (type.is(bytes, BLOCK_STOP)) {
      listener.part(Part.TEXT_END);
    } else if (type.is(bytes, MESSAGE_DELTA) && !stopReason.isEmpty()) {
      listener.part(Part.END);
    }
  }

  private void start(byte[] bytes) {
    if (innerType.is(bytes, TEXT) && block == NO_BLOCK) {
      block = index;
      text(bytes);
    } else {
      listener.part(
          innerType.is(bytes, TOOL_USE) ? Part.TOOL_CALL
              : innerType.is(bytes, THINKING) || innerType.is(bytes, REDACTED) ? Part.REASONING
              : Part.OTHER);
    }
  }

  private void delta(byte[] bytes) {
    if (innerType.is(bytes, TEXT_DELTA) && block == index) {
      text(bytes);
    } else {
      listener.part(
          innerType.is(bytes, JSON_DELTA) ? Part.TOOL_CALL
              : innerType.is(bytes, THINKING_DELTA) || innerType.is(bytes, SIGNATURE_DELTA) ? Part.REASONING
              : Part.OTHER);
    }
  }

  private void text(byte[] bytes) {
    if (!text.isEmpty()) {
      listener.text(bytes, text.from, text.to);
    }
  }

  private static int endOfString(byte[] bytes, int from, int to) {
    int at = from;
    while (at < to && bytes[at] != '"') {
      at += bytes[at] == '\\' ? 2 : 1;
    }
    return Math.min(at, to);
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}
