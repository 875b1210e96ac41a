package io.kvasir.prompt.tokens;

import java.util.Arrays;

/** A growing list of token ids. Not thread-safe. */
public final class TokenIdList {
  private int[] ids;
  private int size;

  /** An empty list with room for {@code capacity} ids. */
  public TokenIdList(int capacity) {
    ids = new int[Math.max(capacity, 16)];
  }

  /** How many ids there are. */
  public int size() {
    return size;
  }

  /** The ids, from 0 to {@link #size()}; valid until the next change. */
  public int[] array() {
    return ids;
  }

  /** Appends one id. */
  public void add(int id) {
    if (size == ids.length) {
      ids = Arrays.copyOf(ids, 2 * size);
    }
    ids[size++] = id;
  }

  /** Appends {@code more}. */
  public void addAll(int[] more) {
    if (size + more.length > ids.length) {
      ids = Arrays.copyOf(ids, Math.max(2 * ids.length, size + more.length));
    }
    System.arraycopy(more, 0, ids, size, more.length);
    size += more.length;
  }

  /** Removes the first {@code count} ids. */
  public void removeFirst(int count) {
    System.arraycopy(ids, count, ids, 0, size - count);
    size -= count;
  }

  /** Removes all ids. */
  public void clear() {
    size = 0;
  }

  /** A copy of the ids from {@code from} to the end. */
  public int[] copyFrom(int from) {
    return Arrays.copyOfRange(ids, from, size);
  }
}
