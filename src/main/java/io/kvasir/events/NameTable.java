package io.kvasir.events;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A table from short names on the wire to values, which makes no strings: a message repeats the same dozen field names
 * in every event. Open addressing over length and three bytes, multiplied by a factor that is searched for until each
 * name has a slot of its own: one comparison then finds it.
 */
final class NameTable<T> {
  /** The longest name, in bytes. */
  static final int MAX = 64;

  private static final int SLOTS = 64;
  private static final int BITS = 6;
  private static final int TRIES = 10_000;

  private final byte[][] names = new byte[SLOTS][];
  private final List<T> values;
  private final int[] places = new int[SLOTS];
  private final int factor;

  NameTable(Map<String, T> table) {
    values = List.copyOf(table.values());
    factor = factor(table.keySet());
    int place = 0;
    for (String name : table.keySet()) {
      byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
      int slot = slot(bytes, bytes.length, factor);
      while (names[slot] != null) {
        slot = (slot + 1) % SLOTS;
      }
      names[slot] = bytes;
      places[slot] = place++;
    }
  }

  @Nullable T find(byte[] bytes, int length) {
    if (length == 0) {
      return null;
    }
    for (int slot = slot(bytes, length, factor); names[slot] != null; slot = (slot + 1) % SLOTS) {
      byte[] name = names[slot];
      if (Arrays.equals(name, 0, name.length, bytes, 0, length)) {
        return values.get(places[slot]);
      }
    }
    return null;
  }

  /** A factor under which no two names share a slot, if one is found. */
  private static int factor(Set<String> names) {
    int factor = 0x9E3779B1;
    for (int i = 0; i < TRIES; i++) {
      long taken = 0;
      for (String name : names) {
        byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
        taken |= 1L << slot(bytes, bytes.length, factor);
      }
      if (Long.bitCount(taken) == names.size()) {
        break;
      }
      factor = factor * 0x2C1B3C6D + 2;
    }
    return factor;
  }

  private static int slot(byte[] bytes, int length, int factor) {
    int seen = (length << 24) ^ (bytes[0] << 16) ^ (bytes[length >> 1] << 8) ^ bytes[length - 1];
    return (seen * factor) >>> (Integer.SIZE - BITS);
  }
}
