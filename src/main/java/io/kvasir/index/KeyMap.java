package io.kvasir.index;

import java.util.Arrays;

/**
 * The map of one worker from engine keys to rows, with the copies per tier.
 *
 * <p>Entries {@code [ key | copies × 4 tiers : 8 each, row : 32 ]} are dense, in the order of insertion: the blocks of
 * a prompt are adjacent, and are removed together, too. Beside them is a table of
 * {@code [ tag:5 | entry + 1 : 27 ]}, at most half full, probed linearly: 4 bytes a cell, so that the one
 * random access of an operation touches as little memory as possible, and a tag avoids nearly every look at another
 * key's entry. A removed cell leaves a mark unless the next cell is empty; when marks fill the table it is rewritten
 * from the entries.
 *
 * <p>An entry is free when its copies are 0: every key may be used. Not thread-safe.
 */
final class KeyMap {
  /** The most copies counted in one tier; a block with more of them counts as removed early rather than late. */
  static final int MAX_COPIES = 255;

  /** The entry of no key. */
  static final int ABSENT = -1;

  private static final long PHI = 0x9E3779B97F4A7C15L;
  private static final int TAG_SHIFT = 27;
  private static final int ENTRY = (1 << TAG_SHIFT) - 1;
  private static final int MAX_ENTRIES = ENTRY - 1;
  private static final int REMOVED = 1; // tags begin at 1, so this is no entry's cell
  private static final int SMALLEST = 16;
  private static final long[] NO_ENTRIES = new long[0];
  private static final int[] EMPTY_TABLE = new int[1];

  private final Budget budget;
  private long[] entries = NO_ENTRIES;
  private int[] table = EMPTY_TABLE;
  private int capacity;
  private int used; // cells that are not empty
  private int end; // entries that were ever used
  private int free = ABSENT; // the first unused entry below the end, linked by their values
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

  // Entries. A key has the same entry until it is deleted.

  int size() {
    return size;
  }

  /** The bound of an iteration over the entries that {@link #isUsed}. */
  int end() {
    return end;
  }

  boolean isUsed(int entry) {
    return isHeld(entries[2 * entry + 1]);
  }

  /** A key's entry, {@link #ABSENT} if there is none. */
  int find(long key) {
    long mixed = key * PHI;
    int tag = tag(mixed);
    int at = home(mixed);
    for (int cell = table[at]; cell != 0; cell = table[at]) {
      if ((cell & ~ENTRY) == tag) {
        int entry = (cell & ENTRY) - 1;
        if (entries[2 * entry] == key) {
          return entry;
        }
      }
      at = after(at);
    }
    return ABSENT;
  }

  long key(int entry) {
    return entries[2 * entry];
  }

  long value(int entry) {
    return entries[2 * entry + 1];
  }

  void setValue(int entry, long value) {
    entries[2 * entry + 1] = value;
  }

  /** Adds a key that has no entry, after {@link #reserve}. */
  void insert(long key, long value) {
    if (used >= table.length - table.length / 4) {
      rewrite();
    }
    int entry = free;
    if (entry == ABSENT) {
      entry = end++;
    } else {
      free = (int) entries[2 * entry + 1];
    }
    entries[2 * entry] = key;
    entries[2 * entry + 1] = value;
    size++;
    enter(key, entry);
  }

  void delete(int entry) {
    long mixed = entries[2 * entry] * PHI;
    int cell = tag(mixed) | (entry + 1);
    int at = home(mixed);
    while (table[at] != cell) {
      at = after(at);
    }
    if (table[after(at)] != 0) {
      table[at] = REMOVED;
    } else {
      // The next cell is empty: this one, and the marks before it, need not be probed past any more.
      do {
        table[at] = 0;
        used--;
        at = at == 0 ? table.length - 1 : at - 1;
      } while (table[at] == REMOVED);
    }
    entries[2 * entry + 1] = free & 0xFFFFFFFFL;
    free = entry;
    size--;
  }

  /** As {@link Shards#touch}, for keys. */
  long touch(long[] keys, int from, int count) {
    long seen = 0;
    for (int i = from; i < from + count; i++) {
      seen += table[home(keys[i] * PHI)];
    }
    return seen;
  }

  /** Reserves room for new keys; false when the budget does not allow it. */
  boolean reserve(int keys) {
    return keys <= room() || grow(keys);
  }

  /** The number of keys that can be added without growing. */
  int room() {
    return capacity - size;
  }

  /** Removes every key and releases the memory. */
  void clear() {
    budget.release(bytes(capacity));
    entries = NO_ENTRIES;
    table = EMPTY_TABLE;
    capacity = 0;
    used = 0;
    end = 0;
    free = ABSENT;
    size = 0;
  }

  private boolean grow(int keys) {
    long needed = (long) size + keys;
    long wanted = Math.max(needed, Math.max(SMALLEST, capacity + capacity / 4L));
    if (wanted > MAX_ENTRIES || !budget.reserve(bytes(wanted) - bytes(capacity))) {
      wanted = needed;
      if (wanted > MAX_ENTRIES || !budget.reserve(bytes(wanted) - bytes(capacity))) {
        return false;
      }
    }
    capacity = (int) wanted;
    entries = Arrays.copyOf(entries, 2 * capacity);
    table = new int[2 * capacity];
    rewrite();
    return true;
  }

  /** Rewrites the table without marks. */
  private void rewrite() {
    Arrays.fill(table, 0);
    used = 0;
    for (int entry = 0; entry < end; entry++) {
      if (isUsed(entry)) {
        enter(entries[2 * entry], entry);
      }
    }
  }

  private void enter(long key, int entry) {
    long mixed = key * PHI;
    int at = home(mixed);
    while (table[at] > REMOVED || table[at] < 0) {
      at = after(at);
    }
    if (table[at] == 0) {
      used++;
    }
    table[at] = tag(mixed) | (entry + 1);
  }

  private static long bytes(long capacity) {
    return capacity == 0 ? 0 : Budget.arrayOf(2 * capacity) + Budget.arrayOf(capacity);
  }

  /** The tag of a key, 1 to 31, shifted into place; from bits that do not decide the home cell. */
  private static int tag(long mixed) {
    return ((((((int) mixed >>> 16) & 0xFFFF) * 31) >>> 16) + 1) << TAG_SHIFT;
  }

  private int home(long mixed) {
    return (int) Math.unsignedMultiplyHigh(mixed, table.length);
  }

  private int after(int at) {
    return at + 1 == table.length ? 0 : at + 1;
  }
}
