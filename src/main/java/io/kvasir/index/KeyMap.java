package io.kvasir.index;

import java.util.Arrays;

/**
 * The map of one worker from engine keys to rows, with the copies per tier.
 *
 * <p>Entries {@code [ key | copies × 4 tiers : 8 each, row : 32 ]} are dense, in the order of insertion: the blocks of
 * a prompt are adjacent, and are removed together, too. They are in chunks, which are never copied. Beside them is a
 * table in buckets of {@value #BUCKET} longs: the {@link Tags}, then the names of {@value Tags#SLOTS} entries, two in a
 * long. A name is an entry's number with five more bits of the key's mixed hash above it, so that an entry is hardly
 * ever read in vain. A key's bucket is all that is accessed of the table, nearly always. The table is widened by half:
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
  private static final int ENTRY_BITS = 27;
  private static final int MAX_ENTRIES = 1 << ENTRY_BITS;
  private static final int BUCKET = 4; // longs
  private static final int FEWEST = 8; // buckets
  private static final int KEYS = 4; // of a bucket, on average at most
  private static final int CHUNK_BITS = 8;
  private static final int CHUNK = 1 << CHUNK_BITS;
  private static final int CHUNKS = 16;
  private static final long[] NO_KEYS = {Tags.NONE, 0, 0, 0}; // of all empty maps: never written

  private final Budget budget;
  private long[][] chunks = new long[CHUNKS][];
  private long[] table = NO_KEYS; // buckets
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
    long[] buckets = table;
    long mixed = key * PHI;
    long tag = Tags.of(mixed);
    int home = home(mixed, buckets.length);
    int bucket = home;
    do {
      long tags = buckets[bucket];
      for (long same = Tags.same(tags, tag); same != 0; same = Tags.rest(same)) {
        int name = name(buckets, bucket, Tags.first(same));
        if (isOf(name, mixed) && key(entry(name)) == key) {
          return entry(name);
        }
      }
      if (!Tags.isPassed(tags)) {
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
    long[] buckets = table;
    for (int i = 0; i < count; i++) {
      long mixed = keys[from + i] * PHI;
      int home = home(mixed, buckets.length);
      long same = Tags.same(buckets[home], Tags.of(mixed));
      places[at + i] = same == 0 ? ABSENT : entry(name(buckets, home, Tags.first(same)));
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

  private static int next(int bucket, int length) {
    int next = bucket + BUCKET;
    return next < length ? next : 0;
  }

  private static int name(int entry, long mixed) {
    return entry | ((int) (mixed >>> 32) << ENTRY_BITS);
  }

  private static int entry(int name) {
    return name & (MAX_ENTRIES - 1);
  }

  /** Whether a name may be that of a key with a mixed hash. */
  private static boolean isOf(int name, long mixed) {
    return ((name >>> ENTRY_BITS) ^ (int) (mixed >>> 32)) << ENTRY_BITS == 0;
  }

  private static int name(long[] buckets, int bucket, int slot) {
    return (int) (buckets[bucket + 1 + (slot >>> 1)] >>> (slot << 5));
  }

  private static void setName(long[] buckets, int bucket, int slot, int name) {
    int at = bucket + 1 + (slot >>> 1);
    int shift = slot << 5;
    buckets[at] = (buckets[at] & ~(0xFFFFFFFFL << shift)) | ((name & 0xFFFFFFFFL) << shift);
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
    long[] buckets = table;
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
    setName(buckets, bucket, slot, name(entry, mixed));
  }

  /** Removes an entry. */
  void delete(int entry) {
    long mixed = key(entry) * PHI;
    leave(mixed, name(entry, mixed));
    setValue(entry, free & 0xFFFFFFFFL);
    free = entry;
    size--;
  }

  /** Takes an entry out of the table. */
  private void leave(long mixed, int name) {
    long[] buckets = table;
    long tag = Tags.of(mixed);
    int bucket = home(mixed, buckets.length);
    while (true) {
      long tags = buckets[bucket];
      for (long same = Tags.same(tags, tag); same != 0; same = Tags.rest(same)) {
        if (name(buckets, bucket, Tags.first(same)) == name) {
          buckets[bucket] = Tags.without(tags, Tags.first(same));
          return;
        }
      }
      buckets[bucket] = Tags.unpass(tags);
      bucket = next(bucket, buckets.length);
    }
  }

  /** As {@link Shards#touch}, for keys: both ends of a bucket, which is in two cache lines as often as in one. */
  long touch(long[] keys, int from, int count) {
    long[] buckets = table;
    long seen = 0;
    for (int i = from; i < from + count; i++) {
      int home = home(keys[i] * PHI, buckets.length);
      seen += buckets[home] + buckets[home + BUCKET - 1];
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
    budget.release(bytesOfEntries(capacity) + bytesOfTable(buckets()) + directory(chunks.length));
    chunks = new long[CHUNKS][];
    table = NO_KEYS;
    capacity = 0;
    end = 0;
    free = ABSENT;
    size = 0;
  }

  /** Widens the table for a number of keys if it would be too full; without memory for that it may be crowded. */
  private boolean widen(int keys) {
    int buckets = buckets();
    if (keys <= (long) buckets * KEYS) {
      return true;
    }
    int wider = Math.max(Math.max(FEWEST, keys / 3), buckets + buckets / 2);
    if (!budget.reserve(bytesOfTable(wider) - bytesOfTable(buckets))) {
      return keys <= crowded();
    }
    table = new long[wider * BUCKET];
    for (int bucket = 0; bucket < table.length; bucket += BUCKET) {
      table[bucket] = Tags.NONE;
    }
    for (int entry = 0; entry < end; entry++) {
      if (isUsed(entry)) {
        enter(key(entry), entry);
      }
    }
    return true;
  }

  private int buckets() {
    return table.length == NO_KEYS.length ? 0 : table.length / BUCKET;
  }

  /** The most keys of the table. */
  private int crowded() {
    return buckets() * (Tags.SLOTS - 1);
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
    return buckets == 0 ? 0 : Budget.arrayOf((long) buckets * BUCKET);
  }

  /** The bytes of the references to chunks, as far as they are more than every map has. */
  private static long directory(int references) {
    return (references - CHUNKS) * (long) Long.BYTES;
  }

  /** The index of a mixed hash's home bucket. */
  private static int home(long mixed, int length) {
    return (int) Math.unsignedMultiplyHigh(mixed, length / BUCKET) * BUCKET;
  }
}
