package io.kvasir.tracing;

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * A span's place in a trace, as W3C Trace Context has it in the header {@code traceparent}. Immutable.
 *
 * @param traceHigh the trace id's first 8 bytes
 * @param traceLow its last 8 bytes
 * @param span the span's id, never 0
 * @param flags of the trace: {@link #SAMPLED}, {@link #RANDOM}
 */
public record TraceContext(long traceHigh, long traceLow, long span, int flags) {
  /** The header. */
  public static final String HEADER = "traceparent";

  /** Vendors' part of the context, which means nothing without the header. */
  public static final String STATE_HEADER = "tracestate";

  static final int SAMPLED = 1;

  /** The trace id's last 7 bytes are random. */
  static final int RANDOM = 2;

  private static final byte[] DIGITS = "0123456789abcdef".getBytes(StandardCharsets.ISO_8859_1);
  private static final int LENGTH = 55;
  private static final int TRACE_AT = 3;
  private static final int SPAN_AT = 36;
  private static final int FLAGS_AT = 53;

  /** Hexadecimal digits of a long. */
  private static final int LONG_DIGITS = 16;

  /**
   * Reads the header.
   *
   * @return null when it is malformed, as a header that a later version may have extended is not
   */
  public static @Nullable TraceContext parse(@Nullable String header) {
    if (header == null || !isWellFormed(header)) {
      return null;
    }
    long high = HexFormat.fromHexDigitsToLong(header, TRACE_AT, 19);
    long low = HexFormat.fromHexDigitsToLong(header, 19, 35);
    long span = HexFormat.fromHexDigitsToLong(header, SPAN_AT, 52);
    int flags = HexFormat.fromHexDigits(header, FLAGS_AT, LENGTH);
    return (high | low) == 0 || span == 0 ? null : new TraceContext(high, low, span, flags & (SAMPLED | RANDOM));
  }

  private static boolean isWellFormed(String header) {
    if (header.length() < LENGTH || header.startsWith("ff")) {
      return false;
    }
    boolean extended = header.length() > LENGTH;
    if (extended && (header.startsWith("00") || header.charAt(LENGTH) != '-')) {
      return false;
    }
    for (int i = 0; i < LENGTH; i++) {
      char c = header.charAt(i);
      boolean dash = i == 2 || i == SPAN_AT - 1 || i == FLAGS_AT - 1;
      boolean hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
      if (dash ? c != '-' : !hex) {
        return false;
      }
    }
    return true;
  }

  /** The first span of a new trace. */
  static TraceContext root() {
    ThreadLocalRandom random = ThreadLocalRandom.current();
    return new TraceContext(random.nextLong(), newSpan(), newSpan(), RANDOM);
  }

  /** A span's id. */
  static long newSpan() {
    ThreadLocalRandom random = ThreadLocalRandom.current();
    long id = random.nextLong();
    while (id == 0) {
      id = random.nextLong();
    }
    return id;
  }

  /** Another span of the same trace. */
  TraceContext with(long otherSpan) {
    return new TraceContext(traceHigh, traceLow, otherSpan, flags);
  }

  /** The same, sampled or not. */
  TraceContext sampled(boolean sampled) {
    return sampled == isSampled() ? this : new TraceContext(traceHigh, traceLow, span, flags ^ SAMPLED);
  }

  /** Whether the trace's spans are recorded, as its beginning has decided. */
  public boolean isSampled() {
    return (flags & SAMPLED) != 0;
  }

  /** The trace's id, 32 hexadecimal digits. */
  public String traceId() {
    byte[] text = new byte[2 * LONG_DIGITS];
    put(traceHigh, text, 0);
    put(traceLow, text, LONG_DIGITS);
    return new String(text, StandardCharsets.ISO_8859_1);
  }

  /** The span's id, 16 hexadecimal digits. */
  public String spanId() {
    byte[] text = new byte[LONG_DIGITS];
    put(span, text, 0);
    return new String(text, StandardCharsets.ISO_8859_1);
  }

  /** The header's value. Every request to an engine has one: it is made in one piece. */
  public String header() {
    byte[] text = new byte[LENGTH];
    text[0] = '0';
    text[1] = '0';
    text[TRACE_AT - 1] = '-';
    put(traceHigh, text, TRACE_AT);
    put(traceLow, text, TRACE_AT + LONG_DIGITS);
    text[SPAN_AT - 1] = '-';
    put(span, text, SPAN_AT);
    text[FLAGS_AT - 1] = '-';
    text[FLAGS_AT] = '0';
    text[FLAGS_AT + 1] = DIGITS[flags & 15];
    return new String(text, StandardCharsets.ISO_8859_1);
  }

  private static void put(long value, byte[] text, int at) {
    for (int i = 0; i < LONG_DIGITS; i++) {
      text[at + i] = DIGITS[(int) (value >>> (4 * (LONG_DIGITS - 1 - i))) & 15];
    }
  }
}
