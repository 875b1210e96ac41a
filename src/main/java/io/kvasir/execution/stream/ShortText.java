package io.kvasir.execution.stream;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** A text that is read in pieces, of which no more than its first bytes are kept. One thread at a time. */
final class ShortText {
  private final byte[] bytes;
  private int length;
  private boolean cut;

  /** An empty text that keeps {@code most} bytes. */
  ShortText(int most) {
    bytes = new byte[most];
  }

  void clear() {
    length = 0;
    cut = false;
  }

  /** Adds {@code piece[from, to)}. */
  void add(byte[] piece, int from, int to) {
    int kept = Math.min(to - from, bytes.length - length);
    System.arraycopy(piece, from, bytes, length, kept);
    length += kept;
    cut |= kept < to - from;
  }

  boolean isEmpty() {
    return length == 0;
  }

  /** Whether it is more than what is kept of it. */
  boolean isCut() {
    return cut;
  }

  /** Whether all of it is {@code expected}. */
  boolean is(byte[] expected) {
    return length == expected.length && !cut && Arrays.equals(bytes, 0, length, expected, 0, length);
  }

  /** What is kept, in UTF-8: the first {@link #length} of them. */
  byte[] bytes() {
    return bytes;
  }

  int length() {
    return length;
  }

  @Override
  public String toString() {
    return new String(bytes, 0, length, StandardCharsets.UTF_8);
  }
}
