package io.kvasir.events;

import java.util.Map;
import java.util.TreeMap;

/** Messages that have come before their turn, by their numbers. One thread at a time. */
final class HeldMessages {
  /** How many are held, in messages and bytes, before no more live ones should be read. */
  static final int MOST = 4096;

  private static final long MOST_BYTES = 32L << 20;

  private final TreeMap<Long, Held> byNumber = new TreeMap<>();
  private long bytes;

  /** One of them; {@code live} unless it was replayed. */
  record Held(Decoded decoded, int bytes, boolean live) {}

  boolean isEmpty() {
    return byNumber.isEmpty();
  }

  boolean full() {
    return byNumber.size() >= MOST || bytes >= MOST_BYTES;
  }

  /** Whether the message of that number is not held, or cannot be read. */
  boolean lacks(long number) {
    Held held = byNumber.get(number);
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
  boolean firstMayMend() {
    Held first = byNumber.firstEntry().getValue();
    return first.live && !first.decoded.intact();
  }

  /** Holds a message instead of the one of the same number that may be held. */
  void hold(Decoded decoded, int length, boolean live) {
    Held before = byNumber.put(decoded.batch().sequence(), new Held(decoded, length, live));
    bytes += length - (before == null ? 0 : before.bytes);
  }

  /** Takes the first out; there is one. */
  Held take() {
    Map.Entry<Long, Held> first = byNumber.pollFirstEntry();
    bytes -= first.getValue().bytes;
    return first.getValue();
  }

  void clear() {
    byNumber.clear();
    bytes = 0;
  }
}
