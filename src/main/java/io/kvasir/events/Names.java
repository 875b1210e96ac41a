package io.kvasir.events;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Finds what a short name on the wire stands for without making a string of it: a message repeats the
 * same dozen field names in every event. Open addressing over length, first and last byte.
 */
final class Names<T> {
  /** Longest name kept. */
  static final int MAX = 64;

  private static final int SLOTS = 64;

  private final byte[][] names = new byte[SLOTS][];
  private final List<T> values;
  private final int[] places = new int[SLOTS];

  Names(Map<String, T> table) {
    values = List.copyOf(table.values());
    int place = 0;
    for (String name : table.keySet()) {
      byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
      int slot = slot(bytes, bytes.length);
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
    for (int slot = slot(bytes, length); names[slot] != null; slot = (slot + 1) % SLOTS) {
      byte[] name = names[slot];
      if (Arrays.equals(name, 0, name.length, bytes, 0, length)) {
        return values.get(places[slot]);
      }
    }
    return null;
  }

  private static int slot(byte[] bytes, int length) {
    return (length * 31 + bytes[0] * 7 + bytes[length - 1]) & (SLOTS - 1);
  }
}
