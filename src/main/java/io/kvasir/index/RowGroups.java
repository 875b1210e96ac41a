package io.kvasir.index;

/**
 * Rows in groups: those of one segment that have the same uses, birth and expiry. The groups are in a list, in which
 * some may be placed behind a mark, and are found by their segments.
 *
 * <p>A group is five longs, {@code [ uses:32 | segment:32 ] [ after:32 | before:32 ] [ birth ] [ expiry ]
 * [ sibling:32 | rows:16 ]}: its rows are bits by place; <i>after</i> and <i>before</i> link a circular list through
 * group 0, which has no rows. A table {@code [ segment:32 | group:32 ]} finds a segment's first group, probed linearly,
 * and <i>sibling</i> the one with its next rows. Some 60 bytes a group, and nothing when there are none.
 *
 * <p>Not thread-safe.
 */
final class RowGroups {
  private static final int SMALLEST = 64;
  private static final int LONGS = 5;
  private static final long INT = 0xFFFFFFFFL;
  private static final long[] NO_GROUPS = new long[LONGS];
  private static final long[] NO_TABLE = new long[1];

  private final Budget budget;
  private long[] groups = NO_GROUPS;
  private long[] table = NO_TABLE; // segment and its first group, 0 where there is none
  private int count; // groups in use
  private int made; // groups ever used
  private int free; // head of the list of unused groups, linked by after; 0 for none
  private int mark; // new groups are linked behind this one

  RowGroups(Budget budget) {
    this.budget = budget;
  }

  /** The bits of rows of one segment, by their places. */
  static int bits(int row, int length) {
    return ((1 << length) - 1) << (row & Segments.PLACE);
  }

  /** Reserves memory for new groups; false when the budget does not allow it. */
  boolean reserve(int more) {
    int needed = count + more + 1;
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

  /** Forgets every group and releases the memory. */
  void clear() {
    budget.release(bytes(groups.length / LONGS));
    groups = NO_GROUPS;
    table = NO_TABLE;
    count = 0;
    made = 0;
    free = 0;
  }

  /** The bytes of {@code capacity} groups and their table. */
  private static long bytes(int capacity) {
    return capacity == 1 ? 0 : Budget.arrayOf((long) LONGS * capacity) + Budget.arrayOf(2L * capacity);
  }

  // Groups.

  /** Adds a group behind the mark, after {@link #reserve}. */
  void add(int segment, int rows, int uses, long birth, long expiry) {
    int group = allocate(segment, rows, uses, birth, expiry);
    link(group, mark);
    enter(group);
  }

  private int allocate(int segment, int rows, int uses, long birth, long expiry) {
    int group = free;
    if (group == 0) {
      group = ++made;
    } else {
      free = after(group);
    }
    count++;
    groups[LONGS * group] = ((long) uses << 32) | segment;
    groups[LONGS * group + 2] = birth;
    groups[LONGS * group + 3] = expiry;
    groups[LONGS * group + 4] = rows;
    return group;
  }

  /** Leaves a group {@code own} of its rows, and the others to a new one before it; false without room. */
  boolean split(int group, int own) {
    if (!reserve(1)) {
      return false;
    }
    int other = allocate(segment(group), rows(group) & ~own, uses(group), birth(group), expiry(group));
    groups[LONGS * group + 4] ^= rows(other);
    link(other, before(group));
    enter(other);
    return true;
  }

  /** Removes rows of a group, and the group with its last. */
  void remove(int group, int removed) {
    groups[LONGS * group + 4] ^= removed;
    if (rows(group) == 0) {
      leave(group);
      unlink(group);
      groups[LONGS * group + 1] = (long) free << 32;
      free = group;
      count--;
    }
  }

  /** The group that has a row; 0 for none. */
  int of(int row) {
    int group = first(row);
    while (group != 0 && (rows(group) & bits(row, 1)) == 0) {
      group = sibling(group);
    }
    return group;
  }

  /** The first group of a row's segment; 0 for none. The others are its {@link #sibling}s. */
  int first(int row) {
    return count == 0 ? 0 : (int) table[place(row >>> Segments.ROW_BITS)];
  }

  // What a group has.

  int segment(int group) {
    return (int) groups[LONGS * group];
  }

  int uses(int group) {
    return (int) (groups[LONGS * group] >>> 32);
  }

  /** Its rows, as bits by place. */
  int rows(int group) {
    return (int) groups[LONGS * group + 4];
  }

  long birth(int group) {
    return groups[LONGS * group + 2];
  }

  long expiry(int group) {
    return groups[LONGS * group + 3];
  }

  /** Adds rows that come before or after those of a group, without others of its segment in between. */
  void extend(int group, int rows) {
    groups[LONGS * group + 4] |= rows;
  }

  void removeUse(int group) {
    groups[LONGS * group] -= 1L << 32;
  }

  /** The group of the same segment with its next rows; 0 for none. */
  int sibling(int group) {
    return (int) (groups[LONGS * group + 4] >>> 32);
  }

  private void sibling(int group, int other) {
    groups[LONGS * group + 4] = (groups[LONGS * group + 4] & INT) | ((long) other << 32);
  }

  private int before(int group) {
    return (int) groups[LONGS * group + 1];
  }

  /** The group behind one in the list; 0 for none. That behind group 0 is the first. */
  int after(int group) {
    return (int) (groups[LONGS * group + 1] >>> 32);
  }

  private void before(int group, int other) {
    groups[LONGS * group + 1] = (groups[LONGS * group + 1] & ~INT) | other;
  }

  private void after(int group, int other) {
    groups[LONGS * group + 1] = (groups[LONGS * group + 1] & INT) | ((long) other << 32);
  }

  // The list.

  /** Has what is added or moved from now on be placed behind what is the list's end now. */
  void markEnd() {
    mark = before(0);
  }

  /** The group behind which others are placed; 0 for the list's beginning. */
  int mark() {
    return mark;
  }

  /** Adds a use of a group, which expires no earlier than {@code expiry} then, and moves it behind the mark. */
  void addUse(int group, long expiry) {
    unlink(group);
    link(group, mark);
    groups[LONGS * group] += 1L << 32;
    groups[LONGS * group + 3] = Math.max(groups[LONGS * group + 3], expiry);
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

  // The table, and the siblings of a segment by ascending rows.

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
}
