package io.kvasir.index;

/**
 * The predicted rows of one worker: its bit is set though none of its engine's keys names them. They are kept in the
 * order in which they are evicted when there are too many: the prompt predicted longest ago first, and of a prompt the
 * deepest block first, as engines free them. So what remains of a prompt has no holes.
 *
 * <p>An entry is four longs, {@code [ uses:32 | row:32 ] [ after:32 | before:32 ] [ birth ] [ expiry ]}, in a circular
 * list through entry 0, which has no row. A table {@code [ row:32 | entry:32 ]} finds it, probed linearly, in which the
 * rows of a segment are adjacent. Some 50 bytes a row, and nothing when there are none.
 *
 * <p><b>uses</b> is the number of predictions that include the row: retracting the last of them removes the row.
 * <b>birth</b> is the number of the prediction that made the entry: one made before it counted in an earlier entry of
 * that row, and has nothing to retract here.
 *
 * <p>Not thread-safe.
 */
final class PredictedRows {
  static final long NEVER = Long.MAX_VALUE;

  private static final int SMALLEST = 64;
  private static final int LONGS = 4;
  private static final long INT = 0xFFFFFFFFL;
  private static final long[] NO_ENTRIES = new long[LONGS];
  private static final long[] NO_TABLE = new long[1];

  private final Budget budget;
  private long[] entries = NO_ENTRIES;
  private long[] table = NO_TABLE; // row and entry, 0 where there is none
  private int size;
  private int made; // entries ever used
  private int free; // head of the list of unused entries, linked by after; 0 for none
  private long earliest = NEVER; // no entry's expiry is before it

  // The prompt that is being placed.
  private long number;
  private long expiry;
  private int mark; // its entries are linked behind this one

  PredictedRows(Budget budget) {
    this.budget = budget;
  }

  boolean isEmpty() {
    return size == 0;
  }

  int size() {
    return size;
  }

  /** A time before which no entry expires. */
  long earliest() {
    return earliest;
  }

  boolean has(int row) {
    return entry(row) != 0;
  }

  /** Begins a prompt, whose rows are then touched or added in order. */
  void begin(long ofNumber, long until) {
    number = ofNumber;
    expiry = until;
    mark = before(0);
  }

  /** Counts one more use of a row if it is predicted; returns whether it is. */
  boolean touch(int row) {
    int entry = entry(row);
    if (entry == 0) {
      return false;
    }
    unlink(entry);
    link(entry);
    entries[LONGS * entry] += 1L << 32;
    entries[LONGS * entry + 3] = Math.max(entries[LONGS * entry + 3], expiry);
    return true;
  }

  /** Reserves room for new rows; false when the budget does not allow it. */
  boolean reserve(int rows) {
    int needed = size + rows + 1;
    int capacity = entries.length / LONGS;
    if (needed <= capacity) {
      return true;
    }
    int wanted = Math.max(SMALLEST, Integer.highestOneBit(needed - 1) << 1);
    if (!budget.reserve(bytes(wanted) - bytes(capacity))) {
      return false;
    }
    long[] old = entries;
    entries = new long[LONGS * wanted];
    System.arraycopy(old, 0, entries, 0, old.length);
    table = new long[2 * wanted];
    for (int entry = after(0); entry != 0; entry = after(entry)) {
      put(row(entry), entry);
    }
    return true;
  }

  /** Adds a row that is not predicted yet, after {@link #reserve}. */
  void add(int row) {
    int entry = free;
    if (entry == 0) {
      entry = ++made;
    } else {
      free = after(entry);
    }
    size++;
    entries[LONGS * entry] = (1L << 32) | row;
    entries[LONGS * entry + 2] = number;
    entries[LONGS * entry + 3] = expiry;
    link(entry);
    put(row, entry);
    earliest = Math.min(earliest, expiry);
  }

  /** Removes a row. */
  void remove(int row) {
    int at = place(row);
    int entry = (int) table[at];
    unlink(entry);
    entries[LONGS * entry + 1] = (long) free << 32;
    free = entry;
    size--;
    // Close the hole: move entries back that were displaced by the one removed.
    int mask = table.length - 1;
    for (int next = (at + 1) & mask; table[next] != 0; next = (next + 1) & mask) {
      if (((next - Segments.home((int) (table[next] >>> 32), table.length)) & mask) >= ((next - at) & mask)) {
        table[at] = table[next];
        at = next;
      }
    }
    table[at] = 0;
    if (size == 0) {
      earliest = NEVER;
    }
  }

  /** Takes off the use of a row by a prediction; true when it was the last one and the row was removed. */
  boolean retract(int row, long ofNumber) {
    int entry = entry(row);
    if (entry == 0 || entries[LONGS * entry + 2] > ofNumber) {
      return false;
    }
    entries[LONGS * entry] -= 1L << 32;
    if (entries[LONGS * entry] >>> 32 != 0) {
      return false;
    }
    remove(row);
    return true;
  }

  /** Copies all rows into columns, in the order of eviction. */
  void copy(int[] rows, int[] uses, long[] births, long[] expiries) {
    int at = 0;
    for (int entry = after(0); entry != 0; entry = after(entry)) {
      rows[at] = row(entry);
      uses[at] = (int) (entries[LONGS * entry] >>> 32);
      births[at] = entries[LONGS * entry + 2];
      expiries[at++] = entries[LONGS * entry + 3];
    }
  }

  /** Adds a row predicted in another index, to be evicted last, after {@link #reserve}. */
  void restore(int row, int uses, long birth, long until) {
    begin(birth, until);
    add(row);
    entries[LONGS * before(0)] += (uses - 1L) << 32;
  }

  /** Removes the row that is evicted first, and returns it. */
  int takeOldest() {
    int row = row(after(0));
    remove(row);
    return row;
  }

  /** Removes expired rows into {@code rows}, as many as it can hold; returns how many. */
  int takeExpired(long now, int[] rows) {
    int taken = 0;
    long left = NEVER;
    for (int entry = after(0); entry != 0 && taken < rows.length; ) {
      int next = after(entry);
      long until = entries[LONGS * entry + 3];
      if (until <= now) {
        rows[taken++] = row(entry);
        remove(row(entry));
      } else {
        left = Math.min(left, until);
      }
      entry = next;
    }
    if (taken < rows.length) {
      earliest = left;
    }
    return taken;
  }

  /** Forgets every row and releases the memory. */
  void clear() {
    budget.release(bytes(entries.length / LONGS));
    entries = NO_ENTRIES;
    table = NO_TABLE;
    size = 0;
    made = 0;
    free = 0;
    earliest = NEVER;
  }

  /** The bytes of {@code capacity} entries and their table. */
  private static long bytes(int capacity) {
    return capacity == 1 ? 0 : Budget.arrayOf((long) LONGS * capacity) + Budget.arrayOf(2L * capacity);
  }

  private int entry(int row) {
    return size == 0 ? 0 : (int) table[place(row)];
  }

  private void put(int row, int entry) {
    table[place(row)] = ((long) row << 32) | entry;
  }

  /** The index in the table of a row's entry, or where it would be. */
  private int place(int row) {
    int mask = table.length - 1;
    int at = Segments.home(row, table.length);
    while (table[at] != 0 && (int) (table[at] >>> 32) != row) {
      at = (at + 1) & mask;
    }
    return at;
  }

  private int row(int entry) {
    return (int) entries[LONGS * entry];
  }

  private int before(int entry) {
    return (int) entries[LONGS * entry + 1];
  }

  private int after(int entry) {
    return (int) (entries[LONGS * entry + 1] >>> 32);
  }

  private void before(int entry, int other) {
    entries[LONGS * entry + 1] = (entries[LONGS * entry + 1] & ~INT) | other;
  }

  private void after(int entry, int other) {
    entries[LONGS * entry + 1] = (entries[LONGS * entry + 1] & INT) | ((long) other << 32);
  }

  /** Links an entry behind the mark. */
  private void link(int entry) {
    int next = after(mark);
    entries[LONGS * entry + 1] = ((long) next << 32) | mark;
    after(mark, entry);
    before(next, entry);
  }

  private void unlink(int entry) {
    if (entry == mark) {
      mark = before(entry);
    }
    after(before(entry), after(entry));
    before(after(entry), before(entry));
  }
}
