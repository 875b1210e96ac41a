package io.kvasir.events;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.msgpack.core.MessageInsufficientBufferException;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessageUnpacker;
import org.msgpack.core.buffer.ArrayBufferInput;
import org.msgpack.core.buffer.MessageBuffer;
import org.msgpack.value.ValueType;

/**
 * The reader of the msgpack values in event messages. Guards against hostile bytes: a length is checked against the
 * bytes present, so nothing large is allocated for a small message. One thread at a time.
 */
final class WireReader {
  /** Hashes in one event; no engine comes near. */
  static final int MAX_KEYS = 65_536;

  /** Tokens in one event; no engine comes near. */
  static final int MAX_TOKENS = 1_048_576;

  private static final int MAX_TEXT = 4096;
  private static final byte UINT8 = (byte) 0xcc;
  private static final byte UINT16 = (byte) 0xcd;
  private static final byte UINT32 = (byte) 0xce;
  private static final VarHandle SHORT = MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.BIG_ENDIAN);
  private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  private final ArrayBufferInput input = new ArrayBufferInput(new byte[0]);
  private final MessageUnpacker unpacker = MessagePack.newDefaultUnpacker(input);
  private final byte[] scratch = new byte[NameTable.MAX];
  private byte[] payload = new byte[0];
  private int base;
  private int @Nullable [] seconds;

  void reset(byte[] bytes, int from) throws IOException {
    payload = bytes;
    seek(from);
  }

  /** Goes to an absolute position, such as the start of an event that could not be read. */
  void seek(int position) throws IOException {
    base = position;
    input.reset(payload, position, payload.length - position);
    unpacker.reset(input);
  }

  int position() {
    return base + (int) unpacker.getTotalReadBytes();
  }

  void skip() throws IOException {
    unpacker.skipValue();
  }

  ValueType type() throws IOException {
    return unpacker.getNextFormat().getValueType();
  }

  /** Reads a nil if one is next; returns whether it was. */
  boolean nil() throws IOException {
    return unpacker.tryUnpackNil();
  }

  int array(int max) throws IOException {
    return length(unpacker.unpackArrayHeader(), max);
  }

  int map() throws IOException {
    return length(unpacker.unpackMapHeader(), Integer.MAX_VALUE);
  }

  /**
   * An engine's key of a block: any integer as its 64-bit pattern, or bytes, of which the last eight
   * count, big-endian: the reduction vLLM itself makes when it sends integers.
   */
  long key() throws IOException {
    return switch (unpacker.getNextFormat()) {
      case UINT64, INT64 -> {
        need(9);
        unpacker.readPayload(scratch, 0, 9);
        yield (long) LONG.get(scratch, 1);
      }
      case BIN8, BIN16, BIN32 -> lastEight(bytes());
      default -> unpacker.unpackLong();
    };
  }

  long[] keys() throws IOException {
    long[] keys = new long[array(MAX_KEYS)];
    for (int i = 0; i < keys.length; i++) {
      keys[i] = key();
    }
    return keys;
  }

  /** Token ids; of nested arrays (bigram caches) the first of each, and {@link #seconds} has the others. */
  int[] tokens() throws IOException {
    seconds = null;
    int[] tokens = new int[array(MAX_TOKENS)];
    int from = position();
    int end = plain(tokens, from);
    if (end > from) {
      MessageBuffer _ = unpacker.readPayloadAsReference(end - from);
      return tokens;
    }
    boolean pairs = tokens.length > 0 && type() == ValueType.ARRAY;
    int[] others = new int[pairs ? tokens.length : 0];
    for (int i = 0; i < tokens.length; i++) {
      if (pairs && array(2) != 2) {
        throw new WireException(DecodeFault.MALFORMED, "not a token pair");
      }
      tokens[i] = token();
      if (pairs) {
        others[i] = token();
      }
    }
    seconds = pairs ? others : null;
    return tokens;
  }

  /** The second tokens of the pairs that {@link #tokens} has read last; null where they were no pairs. */
  int @Nullable [] seconds() {
    return seconds;
  }

  private int token() throws IOException {
    long token = unpacker.unpackLong();
    if (token < Integer.MIN_VALUE || token > 0xffff_ffffL) {
      throw new WireException(DecodeFault.MALFORMED, "token id " + token + " has more than 32 bits");
    }
    return (int) token;
  }

  /**
   * Reads tokens that all have the formats engines write: most of an event's bytes, so they are decoded by hand.
   * Returns where they end, or -1 when any has another format.
   */
  private int plain(int[] tokens, int from) {
    byte[] bytes = payload;
    int at = from;
    for (int i = 0; i < tokens.length; i++) {
      if (at + 4 >= bytes.length) {
        return -1;
      }
      int format = bytes[at++];
      if (format >= 0) {
        tokens[i] = format;
      } else if (format == UINT16) {
        tokens[i] = (short) SHORT.get(bytes, at) & 0xffff;
        at += Short.BYTES;
      } else if (format == UINT32) {
        tokens[i] = (int) INT.get(bytes, at);
        at += Integer.BYTES;
      } else if (format == UINT8) {
        tokens[i] = bytes[at++] & 0xff;
      } else {
        return -1;
      }
    }
    return at <= bytes.length ? at : -1;
  }

  /** An integer of {@code [0, max]}. */
  int count(int max, String what) throws IOException {
    long value = unpacker.unpackLong();
    if (value < 0 || value > max) {
      throw new WireException(DecodeFault.MALFORMED, what + " " + value + " is not in 0.." + max);
    }
    return (int) value;
  }

  long integer() throws IOException {
    return unpacker.unpackLong();
  }

  String text() throws IOException {
    int length = unpacker.unpackRawStringHeader();
    if (length > MAX_TEXT) {
      throw new WireException(DecodeFault.TOO_LARGE, "string of " + length + " bytes");
    }
    return new String(payload(length), UTF_8);
  }

  byte[] bytes() throws IOException {
    return payload(unpacker.unpackBinaryHeader());
  }

  /** The value of a string in {@code names}, null for one that is not there. */
  <T> @Nullable T named(NameTable<T> names) throws IOException {
    int length = name();
    return length > scratch.length ? null : names.find(scratch, length);
  }

  /** As {@link #named}, whatever the case of ASCII letters; {@code names} are in lower case. */
  <T> @Nullable T namedAnyCase(NameTable<T> names) throws IOException {
    int length = name();
    if (length > scratch.length) {
      return null;
    }
    for (int i = 0; i < length; i++) {
      if (scratch[i] >= 'A' && scratch[i] <= 'Z') {
        scratch[i] |= 0x20;
      }
    }
    return names.find(scratch, length);
  }

  /** Seconds, integer or float, as microseconds; 0 for nil and for impossible times. */
  long time() throws IOException {
    double seconds;
    switch (type()) {
      case FLOAT -> seconds = unpacker.unpackDouble();
      case INTEGER -> seconds = unpacker.unpackLong();
      default -> {
        skip();
        seconds = 0;
      }
    }
    return seconds > 0 && seconds < 1e12 ? Math.round(seconds * 1e6) : 0;
  }

  /** The encoded bytes of the next value, whatever it is. */
  byte[] raw() throws IOException {
    int from = position();
    skip();
    return Arrays.copyOfRange(payload, from, position());
  }

  private static long lastEight(byte[] bytes) {
    if (bytes.length == 0) {
      throw new WireException(DecodeFault.MALFORMED, "empty block hash");
    }
    long key = 0;
    for (int i = Math.max(0, bytes.length - Long.BYTES); i < bytes.length; i++) {
      key = (key << Byte.SIZE) | (bytes[i] & 0xff);
    }
    return key;
  }

  private int name() throws IOException {
    int length = unpacker.unpackRawStringHeader();
    need(length);
    if (length > scratch.length) {
      seek(position() + length);
    } else {
      unpacker.readPayload(scratch, 0, length);
    }
    return length;
  }

  private byte[] payload(int length) throws IOException {
    need(length);
    byte[] bytes = new byte[length];
    unpacker.readPayload(bytes);
    return bytes;
  }

  private int length(int elements, int max) {
    if (elements > max) {
      throw new WireException(DecodeFault.TOO_LARGE, elements + " elements, at most " + max + " are read");
    }
    need(elements);
    return elements;
  }

  /** Every element takes a byte at least. */
  private void need(int bytes) {
    if (bytes > payload.length - position()) {
      throw new MessageInsufficientBufferException();
    }
  }
}
