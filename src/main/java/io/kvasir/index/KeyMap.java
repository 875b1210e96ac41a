package io.kvasir.index;

/**
 * What one worker's engine calls its blocks: engine key → row and copies per tier. Flat and
 * open-addressed: {@code [ key | copies × 4 tiers : 8 each, row : 32 ]}, so that a look-up touches one
 * cache line; probed linearly, entries move back when one before them goes, so there are no marks to
 * clean up. A place is empty when its value is 0: every key may be used.
 *
 * <p>Not thread-safe.
 */
final class KeyMap {
  /** The most copies counted in one tier; further ones are not, so the block counts as gone early rather than late. */
  static final int MAX_COPIES = 255;

  private static final long PHI = 0x9E3779B97F4A7C15L;
  private static final long[] EMPTY = new long[2];
  private static final int SMALLEST = 32;

  private final Budget budget;
  private long[] table = EMPTY;
  private int capacity = 1;
  private int room; // entries that may come before the table must grow
  private int size;

  KeyMap(Budget budget) {
    this.budget = budget;
  }

  // Values.

  static int row(long value) {
    return (int) value;
  }

  static int copies(long value, int tier) {
    return (int) (value >>> (32 + 8 * tier)) & MAX_COPIES;
  }

  static long withCopies(long value, int tier, int copies) {
    int shift = 32 + 8 * tier;
    return (value & ~((long) MAX_COPIES << shift)) | ((long) copies << shift);
  }

  static boolean isHeld(long value) {
    return value >>> 32 != 0;
  }

  // Entries. An index is good until the next insertion or deletion.

  int size() {
    return size;
  }

  /** Places to visit: a full one {@link #isUsed}. */
  int capacity() {
    return capacity;
  }

  boolean isUsed(int at) {
    return table[2 * at + 1] != 0;
  }

  /** The index of a key's entry, or if there is none, the complement of where it would be put. */
  int find(long key) {
    int at = home(key);
    while (true) {
      if (table[2 * at + 1] == 0) {
        return ~at;
      }
      if (table[2 * at] == key) {
        return at;
      }
      at = after(at);
    }
  }

  long value(int at) {
    return table[2 * at + 1];
  }

  void setValue(int at, long value) {
    table[2 * at + 1] = value;
  }

  /** Puts an entry where {@link #find} said; {@link #reserve} made room for it. */
  void insert(int complement, long key, long value) {
    int at = ~complement;
    table[2 * at] = key;
    table[2 * at + 1] = value;
    size++;
    room--;
  }

  void delete(int at) {
    int hole = at;
    for (int next = after(hole); isUsed(next); next = after(next)) {
      int distance = distance(home(table[2 * next]), next);
      if (distance >= distance(hole, next)) {
        table[2 * hole] = table[2 * next];
        table[2 * hole + 1] = table[2 * next + 1];
        hole = next;
      }
    }
    table[2 * hole] = 0;
    table[2 * hole + 1] = 0;
    size--;
    room++;
  }

  /** As {@link Shards#touch}, for keys. */
  long touch(long[] keys, int from, int count) {
    long seen = 0;
    for (int i = from; i < from + count; i++) {
      seen += table[2 * home(keys[i]) + 1];
    }
    return seen;
  }

  /** Makes room for new keys; false when the budget does not allow it. */
  boolean reserve(int keys) {
    return keys <= room || grow(keys);
  }

  /** How many more keys there is room for. */
  int room() {
    return room;
  }

  /** Forgets every key and gives the memory back. */
  void clear() {
    if (capacity > 1) {
      budget.give(Budget.arrayOf(2L * capacity));
    }
    table = EMPTY;
    capacity = 1;
    room = 0;
    size = 0;
  }

  private boolean grow(int keys) {
    long needed = ((long) size + keys) * 4 / 3 + 2;
    long wanted = Math.max(needed, Math.max(SMALLEST, capacity + capacity / 2L));
    long before = capacity == 1 ? 0 : Budget.arrayOf(2L * capacity);
    if (wanted > Integer.MAX_VALUE / 4) {
      return false;
    }
    if (!budget.take(Budget.arrayOf(2 * wanted) - before)) {
      wanted = needed;
      if (!budget.take(Budget.arrayOf(2 * wanted) - before)) {
        return false;
      }
    }
    long[] old = table;
    capacity = (int) wanted;
    table = new long[2 * capacity];
    room = capacity - capacity / 4 - size;
    for (int i = 0; i < old.length; i += 2) {
      if (old[i + 1] != 0) {
        int at = ~find(old[i]);
        table[2 * at] = old[i];
        table[2 * at + 1] = old[i + 1];
      }
    }
    return true;
  }

  private int home(long key) {
    return (int) Math.unsignedMultiplyHigh(key * PHI, capacity);
  }

  private int after(int at) {
    return at + 1 == capacity ? 0 : at + 1;
  }

  private int distance(int from, int to) {
    return to >= from ? to - from : to - from + capacity;
  }
}
