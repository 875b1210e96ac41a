package io.kvasir.index;

/**
 * The predicted rows of one worker: its bit is set though none of its engine's keys names them. They are kept in the
 * order in which they are evicted when there are too many: the prompt predicted longest ago first, and of a prompt the
 * deepest block first, as engines free them. So what remains of a prompt has no holes.
 *
 * <p>Rows of a segment that the same predictions include are one <b>group</b>, so that a long prompt is predicted once
 * more by a step for each of its segments. A group is five longs, {@code [ uses:32 | segment:32 ] [ after:32 |
 * before:32 ] [ birth ] [ expiry ] [ sibling:32 | rows:16 ]}: its rows are bits by place; <i>after</i> and
 * <i>before</i> link a circular list through group 0, which has no rows, and of a group the deepest row is evicted
 * first. A table {@code [ segment:32 | group:32 ]} finds a segment's first group, probed linearly, and
 * <i>sibling</i> the one with its next rows. Some 60 bytes a group, and nothing when there are none.
 *
 * <p><b>uses</b> is the number of predictions that include the rows: retracting the last of them removes the rows.
 * <b>birth</b> is the number of the prediction that made the group: one made before it counted in an earlier group of
 * those rows, and has nothing to retract here.
 *
 * <p>A prediction that includes some rows of a group splits it. Where the budget has no room for that, it counts as
 * including all of them: some are then evicted later than they could be.
 *
 * <p>Not thread-safe.
 */
final class PredictedRows {
  static final long NEVER = Long.MAX_VALUE;

  private static final int SMALLEST = 64;
  private static final int LONGS = 5;
  private static final long INT = 0xFFFFFFFFL;
  private static final long[] NO_GROUPS = new long[LONGS];
  private static final long[] NO_TABLE = new long[1];

  private final Budget budget;
  private long[] groups = NO_GROUPS;
  private long[] table = NO_TABLE; // segment and its first group, 0 where there is none
  private int size; // rows
  private int count; // groups in use
  private int made; // groups ever used
  private int free; // head of the list of unused groups, linked by after; 0 for none
  private long earliest = NEVER; // no group's expiry is before it

  // The prompt that is being placed.
  private long number;
  private long expiry;
  private int mark; // its groups are linked behind this one

  PredictedRows(Budget budget) {
    this.budget = budget;
  }

  /** The number of rows. */
  int size() {
    return size;
  }

  /** A time before which no row expires. */
  long earliest() {
    return earliest;
  }

  boolean has(int row) {
    return group(row) != 0;
  }

  /** Begins a prompt, whose rows are then touched or added in order. */
  void begin(long ofNumber, long until) {
    number = ofNumber;
    expiry = until;
    mark = before(0);
  }

  /**
   * Counts one more use of those that are predicted among {@code length} rows of one segment from {@code row} on.
   *
   * @return which are, the first row's bit lowest
   */
  int touch(int row, int length) {
    int wanted = bits(row, length);
    int touched = 0;
    int group = first(row);
    while (group != 0) {
      int sibling = sibling(group);
      int own = rows(group) & wanted;
      if (own != 0) {
        boolean _ = own == rows(group) || split(group, own);
        unlink(group);
        link(group);
        groups[LONGS * group] += 1L << 32;
        groups[LONGS * group + 3] = Math.max(groups[LONGS * group + 3], expiry);
        touched |= own;
      }
      group = sibling;
    }
    return touched >>> (row & Segments.PLACE);
  }

  /** Which of {@code length} rows of one segment from {@code row} on are predicted, the first row's bit lowest. */
  int among(int row, int length) {
    int found = 0;
    for (int group = first(row); group != 0; group = sibling(group)) {
      found |= rows(group);
    }
    return (found & bits(row, length)) >>> (row & Segments.PLACE);
  }

  /** Reserves memory for new rows, each in a group of its own; false when the budget does not allow it. */
  boolean reserve(int rows) {
    int needed = count + rows + 1;
    int capacity = groups.length / LONGS;
    if (needed <= capacity) {
      return true;
    }
    int wanted = Math.max(SMALLEST, Integer.highestOneBit(needed - 1) << 1);
    if (!budget.reserve(bytes(wanted) - bytes(capacity))) {
      return false;
    }
    long[] old = groups;
    groups = new long[LONGS * wanted];
    System.arraycopy(old, 0, groups, 0, old.length);
    long[] small = table;
    table = new long[2 * wanted];
    for (long entry : small) {
      if (entry != 0) {
        table[place((int) (entry >>> 32))] = entry;
      }
    }
    return true;
  }

  /** Adds {@code length} rows of one segment that are not predicted yet, after {@link #reserve}. */
  void add(int row, int length) {
    int latest = after(mark);
    size += length;
    if (latest != 0 && continues(latest, row)) {
      groups[LONGS * latest + 4] |= bits(row, length);
      return;
    }
    int group = allocate(row >>> Segments.ROW_BITS, bits(row, length), 1, number, expiry);
    link(group);
    enter(group);
    earliest = Math.min(earliest, expiry);
  }

  /** Whether a group is of the prompt that is being placed, and the row comes next after its rows. */
  private boolean continues(int group, int row) {
    return segment(group) == row >>> Segments.ROW_BITS
        && groups[LONGS * group + 2] == number
        && uses(group) == 1
        && bits(row, 1) == Integer.highestOneBit(rows(group)) << 1;
  }

  /** Removes a row. */
  void remove(int row) {
    int group = group(row);
    if (group != 0) {
      remove(group, bits(row, 1));
    }
  }

  /**
   * Takes off the use by a prediction of {@code length} rows of one segment from {@code row} on.
   *
   * @return for which it was the last one and which were removed, the first row's bit lowest
   */
  int retract(int row, int length, long ofNumber) {
    int wanted = bits(row, length);
    int removed = 0;
    int group = first(row);
    while (group != 0) {
      int sibling = sibling(group);
      int own = rows(group) & wanted;
      if (own != 0 && groups[LONGS * group + 2] <= ofNumber) {
        if (uses(group) == 1) {
          removed |= own;
          remove(group, own);
        } else {
          boolean _ = own == rows(group) || split(group, own);
          groups[LONGS * group] -= 1L << 32;
        }
      }
      group = sibling;
    }
    return removed >>> (row & Segments.PLACE);
  }

  /** Copies all rows into columns, in the order of eviction. */
  void copy(int[] rows, int[] uses, long[] births, long[] expiries) {
    int at = 0;
    for (int group = after(0); group != 0; group = after(group)) {
      for (int left = rows(group); left != 0; left ^= Integer.highestOneBit(left)) {
        rows[at] = deepest(group, left);
        uses[at] = uses(group);
        births[at] = groups[LONGS * group + 2];
        expiries[at++] = groups[LONGS * group + 3];
      }
    }
  }

  /** Adds a row predicted in another index, to be evicted last, after {@link #reserve}. */
  void restore(int row, int uses, long birth, long until) {
    begin(birth, until);
    int last = mark;
    size++;
    if (last != 0
        && segment(last) == row >>> Segments.ROW_BITS
        && bits(row, 1) << 1 == Integer.lowestOneBit(rows(last))
        && uses(last) == uses
        && groups[LONGS * last + 2] == birth
        && groups[LONGS * last + 3] == until) {
      groups[LONGS * last + 4] |= bits(row, 1);
      return;
    }
    int group = allocate(row >>> Segments.ROW_BITS, bits(row, 1), uses, birth, until);
    link(group);
    enter(group);
    earliest = Math.min(earliest, until);
  }

  /** Removes the row that is evicted first, and returns it. */
  int takeOldest() {
    int group = after(0);
    int row = deepest(group, rows(group));
    remove(group, bits(row, 1));
    return row;
  }

  /** Removes expired rows into {@code rows}, as many as it can hold; returns how many. */
  int takeExpired(long now, int[] rows) {
    int taken = 0;
    long left = NEVER;
    for (int group = after(0); group != 0 && taken < rows.length; ) {
      int next = after(group);
      long until = groups[LONGS * group + 3];
      if (until <= now) {
        int own = rows(group);
        int removed = 0;
        for (; removed != own && taken < rows.length; removed |= Integer.highestOneBit(own & ~removed)) {
          rows[taken++] = deepest(group, own & ~removed);
        }
        remove(group, removed);
      } else {
        left = Math.min(left, until);
      }
      group = next;
    }
    if (taken < rows.length) {
      earliest = left;
    }
    return taken;
  }

  /** Forgets every row and releases the memory. */
  void clear() {
    budget.release(bytes(groups.length / LONGS));
    groups = NO_GROUPS;
    table = NO_TABLE;
    size = 0;
    count = 0;
    made = 0;
    free = 0;
    earliest = NEVER;
  }

  /** The bytes of {@code capacity} groups and their table. */
  private static long bytes(int capacity) {
    return capacity == 1 ? 0 : Budget.arrayOf((long) LONGS * capacity) + Budget.arrayOf(2L * capacity);
  }

  private int allocate(int segment, int rows, int uses, long birth, long until) {
    int group = free;
    if (group == 0) {
      group = ++made;
    } else {
      free = after(group);
    }
    count++;
    groups[LONGS * group] = ((long) uses << 32) | segment;
    groups[LONGS * group + 2] = birth;
    groups[LONGS * group + 3] = until;
    groups[LONGS * group + 4] = rows;
    return group;
  }

  /** Leaves a group {@code own} of its rows, and the others to a new one that is evicted first; false without room. */
  private boolean split(int group, int own) {
    if (!reserve(1)) {
      return false;
    }
    int other = allocate(
        segment(group), rows(group) & ~own, uses(group), groups[LONGS * group + 2], groups[LONGS * group + 3]);
    groups[LONGS * group + 4] ^= rows(other);
    link(other, before(group));
    enter(other);
    return true;
  }

  /** Removes rows of a group, and the group with its last. */
  private void remove(int group, int removed) {
    size -= Integer.bitCount(removed);
    groups[LONGS * group + 4] ^= removed;
    if (rows(group) == 0) {
      leave(group);
      unlink(group);
      groups[LONGS * group + 1] = (long) free << 32;
      free = group;
      count--;
      if (size == 0) {
        earliest = NEVER;
      }
    }
  }

  // The table, and the siblings of a segment by ascending rows.

  private int group(int row) {
    int group = first(row);
    while (group != 0 && (rows(group) & bits(row, 1)) == 0) {
      group = sibling(group);
    }
    return group;
  }

  private int first(int row) {
    return size == 0 ? 0 : (int) table[place(row >>> Segments.ROW_BITS)];
  }

  private void enter(int group) {
    int at = place(segment(group));
    int previous = 0;
    int next = (int) table[at];
    while (next != 0 && (rows(next) & -rows(next)) < (rows(group) & -rows(group))) {
      previous = next;
      next = sibling(next);
    }
    sibling(group, next);
    if (previous == 0) {
      table[at] = ((long) segment(group) << 32) | group;
    } else {
      sibling(previous, group);
    }
  }

  private void leave(int group) {
    int at = place(segment(group));
    int other = (int) table[at];
    if (other != group) {
      while (sibling(other) != group) {
        other = sibling(other);
      }
      sibling(other, sibling(group));
    } else if (sibling(group) != 0) {
      table[at] = ((long) segment(group) << 32) | sibling(group);
    } else {
      close(at);
    }
  }

  /** Empties a place of the table, and moves entries back that were displaced by the one removed. */
  private void close(int hole) {
    int at = hole;
    int mask = table.length - 1;
    for (int next = (at + 1) & mask; table[next] != 0; next = (next + 1) & mask) {
      if (((next - home((int) (table[next] >>> 32))) & mask) >= ((next - at) & mask)) {
        table[at] = table[next];
        at = next;
      }
    }
    table[at] = 0;
  }

  /** The index in the table of a segment's entry, or where it would be. */
  private int place(int segment) {
    int mask = table.length - 1;
    int at = home(segment);
    while (table[at] != 0 && (int) (table[at] >>> 32) != segment) {
      at = (at + 1) & mask;
    }
    return at;
  }

  private int home(int segment) {
    return Segments.home(segment << Segments.ROW_BITS, table.length);
  }

  /** The bits of rows of one segment, by their places. */
  private static int bits(int row, int length) {
    return ((1 << length) - 1) << (row & Segments.PLACE);
  }

  private int deepest(int group, int rows) {
    return (segment(group) << Segments.ROW_BITS) + 31 - Integer.numberOfLeadingZeros(rows);
  }

  // What a group has.

  private int segment(int group) {
    return (int) groups[LONGS * group];
  }

  private int uses(int group) {
    return (int) (groups[LONGS * group] >>> 32);
  }

  private int rows(int group) {
    return (int) groups[LONGS * group + 4];
  }

  private int sibling(int group) {
    return (int) (groups[LONGS * group + 4] >>> 32);
  }

  private void sibling(int group, int other) {
    groups[LONGS * group + 4] = (groups[LONGS * group + 4] & INT) | ((long) other << 32);
  }

  private int before(int group) {
    return (int) groups[LONGS * group + 1];
  }

  private int after(int group) {
    return (int) (groups[LONGS * group + 1] >>> 32);
  }

  private void before(int group, int other) {
    groups[LONGS * group + 1] = (groups[LONGS * group + 1] & ~INT) | other;
  }

  private void after(int group, int other) {
    groups[LONGS * group + 1] = (groups[LONGS * group + 1] & INT) | ((long) other << 32);
  }

  /** Links a group behind the mark. */
  private void link(int group) {
    link(group, mark);
  }

  private void link(int group, int previous) {
    int next = after(previous);
    groups[LONGS * group + 1] = ((long) next << 32) | previous;
    after(previous, group);
    before(next, group);
  }

  private void unlink(int group) {
    if (group == mark) {
      mark = before(group);
    }
    after(before(group), after(group));
    before(after(group), before(group));
  }
}
