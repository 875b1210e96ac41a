package io.kvasir.sim.lmcache;

/**
 * LMCache's names for a prompt's chunks: {@code hash((name before, (tokens …), ()))} of CPython, a {@link NoneHash}
 * before the first. Numbers, and tuples of them, have the same hash in every Python process since 3.8 (xxHash over the
 * items), so workers and controller that begin alike agree without a word. Model, LoRA and salt are not in it.
 */
final class ChunkHashes {
  private static final long PRIME_1 = 0x9E3779B185EBCA87L;
  private static final long PRIME_2 = 0xC2B2AE3D27D4EB4FL;
  private static final long PRIME_5 = 0x27D4EB2F165667C5L;
  private static final long LENGTH_SALT = PRIME_5 ^ 3527539;
  private static final long HASH_OF_MINUS_ONE = 1546275796;
  /** Python's numbers are hashed modulo this prime. */
  private static final long MODULUS = (1L << 61) - 1;

  private static final long NO_EXTRA_KEYS = close(PRIME_5, 0);

  private ChunkHashes() {}

  /** The name of the chunk {@code tokens[from, to)} after the one named {@code before}, or after a {@link NoneHash}. */
  static long next(long before, int[] tokens, int from, int to) {
    long content = PRIME_5;
    for (int i = from; i < to; i++) {
      content = lane(content, Integer.toUnsignedLong(tokens[i]));
    }
    content = close(content, to - from);
    return close(lane(lane(lane(PRIME_5, number(before)), content), NO_EXTRA_KEYS), 3);
  }

  private static long number(long value) {
    long hash = value % MODULUS;
    return hash == -1 ? -2 : hash;
  }

  private static long lane(long sum, long item) {
    return Long.rotateLeft(sum + item * PRIME_2, 31) * PRIME_1;
  }

  private static long close(long sum, int length) {
    long hash = sum + (length ^ LENGTH_SALT);
    return hash == -1 ? HASH_OF_MINUS_ONE : hash;
  }
}
