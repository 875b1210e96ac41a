package io.kvasir.prompt.tokens;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * A search for the next of a few bytes, eight at a time. With up to {@value #FEW} of them, as the added tokens of most
 * tokenizers begin with, a long text costs a fraction of a look at each of its bytes.
 */
final class ByteScan {
  private static final int FEW = 2;
  private static final int STRIDE = 4 * Long.BYTES;
  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long ONES = 0x0101010101010101L;
  private static final long HIGHS = 0x8080808080808080L;
  private static final long LINE_BREAKS = '\n' * ONES;

  private final boolean[] among = new boolean[256];
  private int count;

  /** The first and the last of the bytes sought, each eight times. */
  private long one;
  private long other;

  /** Adds a byte to those sought. */
  void add(byte sought) {
    if (!among[sought & 0xff]) {
      among[sought & 0xff] = true;
      one = count == 0 ? (sought & 0xff) * ONES : one;
      other = (sought & 0xff) * ONES;
      count++;
    }
  }

  /** Where the next byte sought is in {@code text[from, to)}; {@code to} when there is none. */
  int next(byte[] text, int from, int to) {
    int at = from;
    if (count == 0) {
      return Math.max(from, to);
    }
    if (count == 1) {
      while (at <= to - STRIDE && !has(text, at, one)) {
        at += STRIDE;
      }
      for (; at + Long.BYTES <= to; at += Long.BYTES) {
        long found = zeros((long) LONG.get(text, at) ^ one);
        if (found != 0) {
          return at + (Long.numberOfTrailingZeros(found) >>> 3);
        }
      }
    } else if (count <= FEW) {
      while (at <= to - STRIDE && !(has(text, at, one) || has(text, at, other))) {
        at += STRIDE;
      }
      for (; at + Long.BYTES <= to; at += Long.BYTES) {
        long eight = (long) LONG.get(text, at);
        long found = zeros(eight ^ one) | zeros(eight ^ other);
        if (found != 0) {
          return at + (Long.numberOfTrailingZeros(found) >>> 3);
        }
      }
    }
    while (at < to && !among[text[at] & 0xff]) {
      at++;
    }
    return at;
  }

  /** Where the next line break or byte sought is from {@code from} on; the text's length when there is none. */
  int nextOrLineBreak(byte[] text, int from) {
    int at = from;
    if (count <= FEW) {
      // Without any byte sought, zero stands for them: a place too many, where nothing then is.
      while (at <= text.length - STRIDE
          && !(has(text, at, one) || (count == FEW && has(text, at, other)) || has(text, at, LINE_BREAKS))) {
        at += STRIDE;
      }
      for (; at + Long.BYTES <= text.length; at += Long.BYTES) {
        long eight = (long) LONG.get(text, at);
        long found = zeros(eight ^ one) | zeros(eight ^ other) | zeros(eight ^ LINE_BREAKS);
        if (found != 0) {
          return at + (Long.numberOfTrailingZeros(found) >>> 3);
        }
      }
    }
    while (at < text.length && text[at] != '\n' && !among[text[at] & 0xff]) {
      at++;
    }
    return at;
  }

  /** Whether {@value #STRIDE} bytes have one among them, which {@code eightTimes} is. */
  private static boolean has(byte[] text, int at, long eightTimes) {
    return ((zeros((long) LONG.get(text, at) ^ eightTimes)
                | zeros((long) LONG.get(text, at + 8) ^ eightTimes)
                | zeros((long) LONG.get(text, at + 16) ^ eightTimes)
                | zeros((long) LONG.get(text, at + 24) ^ eightTimes))
            & HIGHS)
        != 0;
  }

  /** The highest bit of each byte that is zero; above the lowest of them, bits of others may be set, too. */
  private static long zeros(long eight) {
    return (eight - ONES) & ~eight & HIGHS;
  }
}
