package io.kvasir.index;

/**
 * The predicted rows of one worker: its bit is set though none of its engine's keys names them. They are kept in the
 * order in which they are evicted when there are too many: the prompt predicted longest ago first, and of a prompt the
 * deepest block first, as engines free them. So what remains of a prompt has no holes.
 *
 * <p>Rows of a segment that the same predictions include are one {@link RowGroups group}, so that a long prompt is
 * predicted once more by a step for each of its segments; of a group the deepest row is evicted first.
 *
 * <p>A group's <b>uses</b> are the number of predictions that include the rows: retracting the last of them removes the
 * rows. Its <b>birth</b> is the number of the prediction that made the group: one made before it counted in an earlier
 * group of those rows, and has nothing to retract here.
 *
 * <p>A prediction that includes some rows of a group splits it. Where the budget has no room for that, it counts as
 * including all of them: some are then evicted later than they could be.
 *
 * <p>Not thread-safe.
 */
final class PredictedRows {
  static final long NEVER = Long.MAX_VALUE;

  private final RowGroups groups;
  private int size; // rows
  private long earliest = NEVER; // no group's expiry is before it

  // The prompt that is being placed; its groups are behind the mark.
  private long number;
  private long expiry;

  PredictedRows(Budget budget) {
    this.groups = new RowGroups(budget);
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
    return groups.of(row) != 0;
  }

  /** Begins a prompt, whose rows are then touched or added in order. */
  void begin(long ofNumber, long until) {
    number = ofNumber;
    expiry = until;
    groups.markEnd();
  }

  /**
   * Counts one more use of those that are predicted among {@code length} rows of one segment from {@code row} on.
   *
   * @return which are, the first row's bit lowest
   */
  int touch(int row, int length) {
    int wanted = RowGroups.bits(row, length);
    int touched = 0;
    int group = groups.first(row);
    while (group != 0) {
      int sibling = groups.sibling(group);
      int own = groups.rows(group) & wanted;
      if (own != 0) {
        boolean _ = own == groups.rows(group) || groups.split(group, own);
        groups.addUse(group, expiry);
        touched |= own;
      }
      group = sibling;
    }
    return touched >>> (row & Segments.PLACE);
  }

  /** Which of {@code length} rows of one segment from {@code row} on are predicted, the first row's bit lowest. */
  int among(int row, int length) {
    int found = 0;
    for (int group = groups.first(row); group != 0; group = groups.sibling(group)) {
      found |= groups.rows(group);
    }
    return (found & RowGroups.bits(row, length)) >>> (row & Segments.PLACE);
  }

  /** Reserves memory for new rows, each in a group of its own; false when the budget does not allow it. */
  boolean reserve(int rows) {
    return groups.reserve(rows);
  }

  /** Adds {@code length} rows of one segment that are not predicted yet, after {@link #reserve}. */
  void add(int row, int length) {
    int latest = groups.after(groups.mark());
    size += length;
    if (latest != 0 && continues(latest, row)) {
      groups.extend(latest, RowGroups.bits(row, length));
      return;
    }
    groups.add(row >>> Segments.ROW_BITS, RowGroups.bits(row, length), 1, number, expiry);
    earliest = Math.min(earliest, expiry);
  }

  /** Whether a group is of the prompt that is being placed, and the row comes next after its rows. */
  private boolean continues(int group, int row) {
    return groups.segment(group) == row >>> Segments.ROW_BITS
        && groups.birth(group) == number
        && groups.uses(group) == 1
        && RowGroups.bits(row, 1) == Integer.highestOneBit(groups.rows(group)) << 1;
  }

  /** Removes a row. */
  void remove(int row) {
    int group = groups.of(row);
    if (group != 0) {
      remove(group, RowGroups.bits(row, 1));
    }
  }

  /**
   * Takes off the use by a prediction of {@code length} rows of one segment from {@code row} on.
   *
   * @return for which it was the last one and which were removed, the first row's bit lowest
   */
  int retract(int row, int length, long ofNumber) {
    int wanted = RowGroups.bits(row, length);
    int removed = 0;
    int group = groups.first(row);
    while (group != 0) {
      int sibling = groups.sibling(group);
      int own = groups.rows(group) & wanted;
      if (own != 0 && groups.birth(group) <= ofNumber) {
        if (groups.uses(group) == 1) {
          removed |= own;
          remove(group, own);
        } else {
          boolean _ = own == groups.rows(group) || groups.split(group, own);
          groups.removeUse(group);
        }
      }
      group = sibling;
    }
    return removed >>> (row & Segments.PLACE);
  }

  /** Copies all rows into columns, in the order of eviction. */
  void copy(int[] rows, int[] uses, long[] births, long[] expiries) {
    int at = 0;
    for (int group = groups.after(0); group != 0; group = groups.after(group)) {
      for (int left = groups.rows(group); left != 0; left ^= Integer.highestOneBit(left)) {
        rows[at] = deepest(group, left);
        uses[at] = groups.uses(group);
        births[at] = groups.birth(group);
        expiries[at++] = groups.expiry(group);
      }
    }
  }

  /** Adds a row predicted in another index, to be evicted last, after {@link #reserve}. */
  void restore(int row, int uses, long birth, long until) {
    begin(birth, until);
    int last = groups.mark();
    size++;
    if (last != 0
        && groups.segment(last) == row >>> Segments.ROW_BITS
        && RowGroups.bits(row, 1) << 1 == Integer.lowestOneBit(groups.rows(last))
        && groups.uses(last) == uses
        && groups.birth(last) == birth
        && groups.expiry(last) == until) {
      groups.extend(last, RowGroups.bits(row, 1));
      return;
    }
    groups.add(row >>> Segments.ROW_BITS, RowGroups.bits(row, 1), uses, birth, until);
    earliest = Math.min(earliest, until);
  }

  /** Removes the row that is evicted first, and returns it. */
  int takeOldest() {
    int group = groups.after(0);
    int row = deepest(group, groups.rows(group));
    remove(group, RowGroups.bits(row, 1));
    return row;
  }

  /** Removes expired rows into {@code rows}, as many as it can hold; returns how many. */
  int takeExpired(long now, int[] rows) {
    int taken = 0;
    long left = NEVER;
    for (int group = groups.after(0); group != 0 && taken < rows.length; ) {
      int next = groups.after(group);
      long until = groups.expiry(group);
      if (until <= now) {
        int own = groups.rows(group);
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
    groups.clear();
    size = 0;
    earliest = NEVER;
  }

  private void remove(int group, int removed) {
    size -= Integer.bitCount(removed);
    groups.remove(group, removed);
    if (size == 0) {
      earliest = NEVER;
    }
  }

  private int deepest(int group, int rows) {
    return (groups.segment(group) << Segments.ROW_BITS) + 31 - Integer.numberOfLeadingZeros(rows);
  }
}
