package io.kvasir.prompt.tokens;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A cache of the ids of words, so that most words of a new text cost a hash and a comparison instead of merges.
 *
 * <p>Every word has two slots, and the older entry of the two is replaced. Entries are immutable and read without
 * synchronisation: threads may lose each other's entries but never read an incomplete one. Bounded: at most {@value
 * #SLOTS} words of at most {@value #MAX_BYTES} bytes, some 7 MB.
 */
final class WordCache {
  static final int MAX_BYTES = 48;
  private static final int SLOTS = 1 << 16;
  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private record CachedWord(long hash, byte[] word, int[] ids) {
    boolean is(long otherHash, byte[] text, int from, int to) {
      return hash == otherHash && Arrays.equals(word, 0, word.length, text, from, to);
    }
  }

  private final @Nullable CachedWord[] entries = new CachedWord[SLOTS];

  /** A hash of {@code text[from, to)}, eight bytes at a time. */
  static long hash(byte[] text, int from, int to) {
    long hash = (long) to - from;
    int at = from;
    for (; at + Long.BYTES <= to; at += Long.BYTES) {
      hash = mix(hash ^ (long) LONG.get(text, at));
    }
    int rest = to - at;
    if (rest > 0) {
      long tail;
      if (at + Long.BYTES <= text.length) {
        tail = (long) LONG.get(text, at) & (-1L >>> (Long.SIZE - Byte.SIZE * rest));
      } else {
        tail = 0;
        for (int i = rest - 1; i >= 0; i--) {
          tail = (tail << Byte.SIZE) | (text[at + i] & 0xff);
        }
      }
      hash = mix(hash ^ tail);
    }
    return hash;
  }

  private static long mix(long value) {
    long mixed = value * 0x9E3779B97F4A7C15L;
    return mixed ^ (mixed >>> 32);
  }

  int @Nullable [] find(long hash, byte[] text, int from, int to) {
    int slot = (int) hash & (SLOTS - 1);
    CachedWord entry = entries[slot];
    if (entry != null && entry.is(hash, text, from, to)) {
      return entry.ids;
    }
    CachedWord older = entries[slot ^ 1];
    if (older != null && older.is(hash, text, from, to)) {
      return older.ids;
    }
    return null;
  }

  void put(long hash, byte[] text, int from, int to, int[] ids) {
    int slot = (int) hash & (SLOTS - 1);
    entries[slot ^ 1] = entries[slot];
    entries[slot] = new CachedWord(hash, Arrays.copyOfRange(text, from, to), ids);
  }
}
