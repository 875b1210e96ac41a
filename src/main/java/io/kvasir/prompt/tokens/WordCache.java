package io.kvasir.prompt.tokens;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Remembers the ids of words, so that most words of a new text cost a hash and a comparison instead of merges.
 *
 * <p>Every word has two places, and the one that was used longer ago gives way. Entries are immutable and found by
 * plain reads: threads may lose each other's entries, never see half of one. Bounded: at most {@value #PLACES} words of
 * at most {@value #LONGEST} bytes, some 7 MB.
 */
final class WordCache {
  static final int LONGEST = 48;
  private static final int PLACES = 1 << 16;
  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private record CachedWord(long hash, byte[] word, int[] ids) {
    boolean is(long wanted, byte[] text, int from, int to) {
      return hash == wanted && Arrays.equals(word, 0, word.length, text, from, to);
    }
  }

  private final @Nullable CachedWord[] entries = new CachedWord[PLACES];

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
    int place = (int) hash & (PLACES - 1);
    CachedWord entry = entries[place];
    if (entry != null && entry.is(hash, text, from, to)) {
      return entry.ids;
    }
    CachedWord older = entries[place ^ 1];
    if (older != null && older.is(hash, text, from, to)) {
      return older.ids;
    }
    return null;
  }

  void put(long hash, byte[] text, int from, int to, int[] ids) {
    int place = (int) hash & (PLACES - 1);
    entries[place ^ 1] = entries[place];
    entries[place] = new CachedWord(hash, Arrays.copyOfRange(text, from, to), ids);
  }
}
