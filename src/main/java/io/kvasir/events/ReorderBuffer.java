package io.kvasir.events;

import java.util.Map;
import java.util.TreeMap;

/** Messages that have come before their turn, by their numbers. One thread at a time. */
final class ReorderBuffer {
  /** How many are held, in messages and bytes, before no more live ones should be read. */
  static final int MAX_MESSAGES = 4096;

  private static final long MAX_BYTES = 32L << 20;

  private final TreeMap<Long, BufferedMessage> byNumber = new TreeMap<>();
  private long bytes;

  /** One of them; {@code live} unless it was replayed. */
  record BufferedMessage(DecodedMessage decoded, int bytes, boolean live) {}

  boolean isEmpty() {
    return byNumber.isEmpty();
  }

  boolean full() {
    return byNumber.size() >= MAX_MESSAGES || bytes >= MAX_BYTES;
  }

  /** Whether the message of that number is not held, or cannot be read. */
  boolean lacks(long number) {
    BufferedMessage held = byNumber.get(number);
    return held == null || !held.decoded.intact();
  }

  /** The lowest number; there is one. */
  long first() {
    return byNumber.firstKey();
  }

  /** The highest number; there is one. */
  long last() {
    return byNumber.lastKey();
  }

  /** Whether the first is one that was published live and cannot be read: a replay may bring it whole. */
  boolean firstIsRepairable() {
    BufferedMessage first = byNumber.firstEntry().getValue();
    return first.live && !first.decoded.intact();
  }

  /** Holds a message instead of the one of the same number that may be held. */
  void put(DecodedMessage decoded, int length, boolean live) {
    BufferedMessage before = byNumber.put(decoded.batch().sequence(), new BufferedMessage(decoded, length, live));
    bytes += length - (before == null ? 0 : before.bytes);
  }

  /** Takes the first out; there is one. */
  BufferedMessage take() {
    Map.Entry<Long, BufferedMessage> first = byNumber.pollFirstEntry();
    bytes -= first.getValue().bytes;
    return first.getValue();
  }

  void clear() {
    byNumber.clear();
    bytes = 0;
  }
}
