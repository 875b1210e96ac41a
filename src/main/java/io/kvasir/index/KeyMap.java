package io.kvasir.index;

import java.util.Arrays;

/**
 * The map of one worker from engine keys to rows, with the copies per tier.
 *
 * <p>Entries {@code [ key | copies × 4 tiers : 8 each, row : 32 ]} are dense, in the order of insertion: the blocks of
 * a prompt are adjacent, and are removed together, too. They are in chunks, which are never copied. Beside them is a
 * table of their numbers, in buckets of {@value Tags#SLOTS} that are about half full, and an array of the buckets'
 * {@link Tags}, which is all that is read of most keys that are absent or are removed. The table is widened by half:
 * every wider one takes as long as entering all keys again.
 *
 * <p>An entry is free when its copies are 0: every key may be used. Not thread-safe.
 */
final class KeyMap {
  /** The most copies counted in one tier; a block with more of them counts as removed early rather than late. */
  static final int MAX_COPIES = 255;

  /** The entry of no key. */
  static final int ABSENT = -1;

  private static final long PHI = 0x9E3779B97F4A7C15L;
  private static final int MAX_ENTRIES = 1 << 27;
  private static final int FEWEST = 6; // buckets
  private static final int KEYS = 5; // of a bucket, on average at most
  private static final int CHUNK_BITS = 8;
  private static final int CHUNK = 1 << CHUNK_BITS;
  private static final int CHUNKS = 16;
  private static final long[] NO_KEYS = new long[1];

  private final Budget budget;
  private long[][] chunks = new long[CHUNKS][];
  private long[] tags = NO_KEYS; // by bucket
  private int[] table = new int[0]; // entries by bucket and slot
  private int capacity; // entries in chunks
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
    return isHeld(value(entry));
  }

  /** A key's entry, {@link #ABSENT} if there is none. */
  int find(long key) {
    long[] buckets = tags;
    long mixed = key * PHI;
    long tag = Tags.of(mixed);
    int home = home(mixed, buckets.length);
    int bucket = home;
    do {
      long found = buckets[bucket];
      for (long same = Tags.same(found, tag); same != 0; same = Tags.rest(same)) {
        int entry = table[bucket * Tags.SLOTS + Tags.first(same)];
        if (key(entry) == key) {
          return entry;
        }
      }
      if (!Tags.isPassed(found)) {
        return ABSENT;
      }
      bucket = next(bucket, buckets.length);
    } while (bucket != home);
    return ABSENT;
  }

  /** A key's entry when that is next to {@code near}, which may be {@link #ABSENT}; else {@link #ABSENT}. */
  int findNextTo(int near, long key) {
    if (near > 0 && isEntry(near - 1, key)) {
      return near - 1;
    }
    return near + 1 < end && isEntry(near + 1, key) ? near + 1 : ABSENT;
  }

  private boolean isEntry(int entry, long key) {
    return key(entry) == key && isUsed(entry);
  }

  /**
   * Finds where keys may be, and reads these entries, all of which waits for memory together. Afterwards {@link
   * #find(long, int)} is faster.
   *
   * @param places receives from {@code at} on, for each of {@code count} keys, the entry where it may be, {@link
   *     #ABSENT} for none
   */
  long touch(long[] keys, int from, int count, int[] places, int at) {
    long[] buckets = tags;
    for (int i = 0; i < count; i++) {
      long mixed = keys[from + i] * PHI;
      int home = home(mixed, buckets.length);
      long same = Tags.same(buckets[home], Tags.of(mixed));
      places[at + i] = same == 0 ? ABSENT : table[home * Tags.SLOTS + Tags.first(same)];
    }
    long seen = 0;
    for (int i = 0; i < count; i++) {
      seen += places[at + i] == ABSENT ? 0 : value(places[at + i]);
    }
    return seen;
  }

  /** As {@link #find(long)}, for a key that may be at an entry, {@link #ABSENT} for none. */
  int find(long key, int place) {
    return place != ABSENT && isEntry(place, key) ? place : find(key);
  }

  private static int next(int bucket, int buckets) {
    return bucket + 1 < buckets ? bucket + 1 : 0;
  }

  long key(int entry) {
    return chunks[entry >>> CHUNK_BITS][at(entry)];
  }

  long value(int entry) {
    return chunks[entry >>> CHUNK_BITS][at(entry) + 1];
  }

  void setValue(int entry, long value) {
    chunks[entry >>> CHUNK_BITS][at(entry) + 1] = value;
  }

  /** The index of an entry's key in its chunk; the value follows. */
  private static int at(int entry) {
    return (entry & (CHUNK - 1)) << 1;
  }

  /** Adds a key that is not there, after {@link #reserve}. */
  void insert(long key, long value) {
    int entry = free;
    if (entry == ABSENT) {
      entry = end++;
    } else {
      free = (int) value(entry);
    }
    long[] chunk = chunks[entry >>> CHUNK_BITS];
    chunk[at(entry)] = key;
    chunk[at(entry) + 1] = value;
    size++;
    enter(key, entry);
  }

  /** Enters an entry into the first bucket from its home on that has an unused slot. */
  private void enter(long key, int entry) {
    long[] buckets = tags;
    long mixed = key * PHI;
    int bucket = home(mixed, buckets.length);
    long unused = Tags.unused(buckets[bucket]);
    while (unused == 0) {
      buckets[bucket] = Tags.pass(buckets[bucket]);
      bucket = next(bucket, buckets.length);
      unused = Tags.unused(buckets[bucket]);
    }
    int slot = Tags.first(unused);
    buckets[bucket] = Tags.with(buckets[bucket], slot, Tags.of(mixed));
    table[bucket * Tags.SLOTS + slot] = entry;
  }

  /** Removes an entry. */
  void delete(int entry) {
    long[] buckets = tags;
    long mixed = key(entry) * PHI;
    long tag = Tags.of(mixed);
    int home = home(mixed, buckets.length);
    long place = onlyPlace(home, tag);
    if (place == ABSENT) {
      place = placeOf(entry, home, tag);
    }
    int holder = (int) (place >>> 3);
    for (int bucket = home; bucket != holder; bucket = next(bucket, buckets.length)) {
      buckets[bucket] = Tags.unpass(buckets[bucket]);
    }
    buckets[holder] = Tags.without(buckets[holder], (int) place & 7);
    setValue(entry, free & 0xFFFFFFFFL);
    free = entry;
    size--;
  }

  /**
   * The only place where a key with a home and a tag can be: eight times its bucket, plus its slot. {@link #ABSENT}
   * when there are several. The table is not read.
   */
  private long onlyPlace(int home, long tag) {
    long only = ABSENT;
    int bucket = home;
    do {
      long same = Tags.same(tags[bucket], tag);
      if (same != 0) {
        if (only != ABSENT || Tags.rest(same) != 0) {
          return ABSENT;
        }
        only = ((long) bucket << 3) + Tags.first(same);
      }
      if (!Tags.isPassed(tags[bucket])) {
        return only;
      }
      bucket = next(bucket, tags.length);
    } while (bucket != home);
    return only;
  }

  /** The place of an entry, as {@link #onlyPlace} names it. */
  private long placeOf(int entry, int home, long tag) {
    int bucket = home;
    while (true) {
      for (long same = Tags.same(tags[bucket], tag); same != 0; same = Tags.rest(same)) {
        if (table[bucket * Tags.SLOTS + Tags.first(same)] == entry) {
          return ((long) bucket << 3) + Tags.first(same);
        }
      }
      bucket = next(bucket, tags.length);
    }
  }

  /** As {@link Shards#touch}, for keys. */
  long touch(long[] keys, int from, int count) {
    long[] buckets = tags;
    long seen = 0;
    for (int i = from; i < from + count; i++) {
      seen += buckets[home(keys[i] * PHI, buckets.length)];
    }
    return seen;
  }

  /** Prepares for new keys; false when the budget does not allow room for all of them. */
  boolean reserve(int keys) {
    long needed = (long) size + keys;
    return needed <= MAX_ENTRIES && widen((int) needed) && extend((int) needed);
  }

  /** The number of keys that can be added without growing. */
  int room() {
    return Math.max(0, Math.min(capacity, crowded()) - size);
  }

  /** Removes every key and releases the memory. */
  void clear() {
    budget.release(bytesOfEntries(capacity) + bytesOfTable(table.length / Tags.SLOTS) + directory(chunks.length));
    chunks = new long[CHUNKS][];
    tags = NO_KEYS;
    table = new int[0];
    capacity = 0;
    end = 0;
    free = ABSENT;
    size = 0;
  }

  /** Widens the table for a number of keys if it would be too full; without memory for that it may be crowded. */
  private boolean widen(int keys) {
    int buckets = table.length / Tags.SLOTS;
    if (keys <= (long) buckets * KEYS) {
      return true;
    }
    int wider = Math.max(Math.max(FEWEST, keys / 3), buckets + buckets / 2);
    if (!budget.reserve(bytesOfTable(wider) - bytesOfTable(buckets))) {
      return keys <= crowded();
    }
    tags = new long[wider];
    table = new int[wider * Tags.SLOTS];
    for (int entry = 0; entry < end; entry++) {
      if (isUsed(entry)) {
        enter(key(entry), entry);
      }
    }
    return true;
  }

  /** The most keys of the table. */
  private int crowded() {
    return table.length / Tags.SLOTS * (Tags.SLOTS - 1);
  }

  /** Adds chunks for a number of entries. */
  private boolean extend(int entries) {
    while (capacity < entries) {
      int number = capacity >>> CHUNK_BITS;
      boolean full = number == chunks.length;
      long bytes = bytesOfEntries(CHUNK) + (full ? directory(2 * number) - directory(number) : 0);
      if (!budget.reserve(bytes)) {
        return false;
      }
      chunks = full ? Arrays.copyOf(chunks, 2 * number) : chunks;
      chunks[number] = new long[2 * CHUNK];
      capacity += CHUNK;
    }
    return true;
  }

  private static long bytesOfEntries(int entries) {
    return (entries >>> CHUNK_BITS) * Budget.arrayOf(2L * CHUNK);
  }

  private static long bytesOfTable(int buckets) {
    return buckets == 0 ? 0 : 2 * Budget.arrayOf(0) + buckets * (long) (Long.BYTES + Tags.SLOTS * Integer.BYTES);
  }

  /** The bytes of the references to chunks, as far as they are more than every map has. */
  private static long directory(int references) {
    return (references - CHUNKS) * (long) Long.BYTES;
  }

  private static int home(long mixed, int buckets) {
    return (int) Math.unsignedMultiplyHigh(mixed, buckets);
  }
}
