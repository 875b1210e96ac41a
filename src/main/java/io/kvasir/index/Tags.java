package io.kvasir.index;

/**
 * The tags of a hash table's bucket of {@value #SLOTS} slots, in one long: {@code [ passed:8 | none:8 | 6 × tag:8 ]}.
 * A tag is part of the key's hash, 0 where the slot is unused. All are compared at once: whether a key is there is
 * known from one access to memory, nearly always, and without a branch that is as likely as not.
 *
 * <p>A key whose home bucket is full goes to the next that is not. <b>passed</b> counts the keys that are beyond a
 * bucket for that, and a search ends where there are none, so a removed key leaves no mark behind. Beyond 254 it is not
 * known how many they are, and the count stays.
 *
 * <p>Some slots of a bucket are a long, too, with the highest bit of each one's tag.
 */
final class Tags {
  static final int SLOTS = 6;

  /** The tags of an unused bucket: where a seventh slot would be is a tag that no key has, and that is not unused. */
  static final long NONE = 1L << 48;

  private static final long ONES = 0x0101010101010101L;
  private static final long HIGHEST = 0x0080808080808080L;
  private static final long TAG = 0xFF;
  private static final int PASSED = 56;
  private static final long MANY = 255;

  private Tags() {}

  /**
   * The tag of a mixed hash in every slot, from its bits 16 to 31: 2 to 255, so that {@link #same} never takes an
   * unused slot for one that has it.
   */
  static long of(long mixed) {
    return ONES * (((((int) mixed >>> 16) * 254) >>> 16) + 2);
  }

  /** The slots with a tag; now and then also one with another, above one that has it. */
  static long same(long tags, long tag) {
    return zeros(tags ^ tag);
  }

  /** The unused slots; of these only the first is one for certain. */
  static long unused(long tags) {
    return zeros(tags);
  }

  private static long zeros(long tags) {
    return (tags - ONES) & ~tags & HIGHEST;
  }

  /** The number of the first of some slots. */
  static int first(long slots) {
    return Long.numberOfTrailingZeros(slots) >>> 3;
  }

  /** Some slots without the first. */
  static long rest(long slots) {
    return slots & (slots - 1);
  }

  /** Whether keys may be in later buckets that would be in this one if it had not been full. */
  static boolean isPassed(long tags) {
    return tags >>> PASSED != 0;
  }

  /** The tags when one more key is in a later bucket. */
  static long pass(long tags) {
    return tags >>> PASSED == MANY ? tags : tags + (1L << PASSED);
  }

  /** The tags when a key that {@link #pass passed} is removed. */
  static long unpass(long tags) {
    return tags >>> PASSED == MANY ? tags : tags - (1L << PASSED);
  }

  /** The tags with one in a slot that was unused. */
  static long with(long tags, int slot, long tag) {
    return tags | ((tag & TAG) << (slot << 3));
  }

  /** Whether a slot is used. */
  static boolean isUsed(long tags, int slot) {
    return (tags & (TAG << (slot << 3))) != 0;
  }

  /** The tags without that of a slot. */
  static long without(long tags, int slot) {
    return tags & ~(TAG << (slot << 3));
  }
}
