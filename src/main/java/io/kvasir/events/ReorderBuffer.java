package io.kvasir.events;

import java.util.Map;
import java.util.TreeMap;

/** The messages that arrived before those they follow, by number. One thread at a time. */
final class ReorderBuffer {
  /** Messages held before no more live ones should be read; bytes have a limit, too. */
  static final int MAX_MESSAGES = 4096;

  private static final long MAX_BYTES = 32L << 20;

  private final TreeMap<Long, BufferedMessage> byNumber = new TreeMap<>();
  private long bytes;

  /** A buffered message; {@code live} unless it was replayed. */
  record BufferedMessage(DecodedMessage decoded, int bytes, boolean live) {}

  boolean isEmpty() {
    return byNumber.isEmpty();
  }

  boolean full() {
    return byNumber.size() >= MAX_MESSAGES || bytes >= MAX_BYTES;
  }

  /** Whether the message of a number is not buffered, or only damaged. */
  boolean lacks(long number) {
    BufferedMessage held = byNumber.get(number);
    return held == null || !held.decoded.intact();
  }

  /** The lowest number; the buffer is not empty. */
  long first() {
    return byNumber.firstKey();
  }

  /** The highest number; the buffer is not empty. */
  long last() {
    return byNumber.lastKey();
  }

  /** Whether the first message is a damaged live one: a replay may bring it intact. */
  boolean firstIsRepairable() {
    BufferedMessage first = byNumber.firstEntry().getValue();
    return first.live && !first.decoded.intact();
  }

  /** Adds a message, replacing one of the same number. */
  void put(DecodedMessage decoded, int length, boolean live) {
    BufferedMessage before = byNumber.put(decoded.batch().sequence(), new BufferedMessage(decoded, length, live));
    bytes += length - (before == null ? 0 : before.bytes);
  }

  /** Removes the first message; the buffer is not empty. */
  BufferedMessage take() {
    Map.Entry<Long, BufferedMessage> first = byNumber.pollFirstEntry();
    bytes -= first.getValue().bytes;
    return first.getValue();
  }

  /** When a message was published; 0 when it is not buffered, or that is unknown. */
  long publishedAt(long number) {
    BufferedMessage held = byNumber.get(number);
    return held == null ? 0 : held.decoded.batch().publishedAt();
  }

  /** Removes the messages before a number. */
  void dropBelow(long number) {
    while (!isEmpty() && first() < number) {
      take();
    }
  }

  void clear() {
    byNumber.clear();
    bytes = 0;
  }
}
