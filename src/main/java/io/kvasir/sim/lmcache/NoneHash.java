package io.kvasir.sim.lmcache;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * What LMCache's chunk names begin from: vLLM's {@code NONE_HASH} where vLLM can be imported, 0 where it cannot. With
 * LMCache's default algorithm that is CPython's {@code hash} of the string in {@code PYTHONHASHSEED}: SipHash-1-3, as
 * since Python 3.11, with a key that the seed gives.
 */
public final class NoneHash {
  /** The beginning without vLLM. */
  public static final long WITHOUT_VLLM = 0;

  private static final long MAX_SEED = 0xFFFFFFFFL;

  private NoneHash() {}

  /**
   * vLLM's {@code NONE_HASH} in a process with a {@code PYTHONHASHSEED}.
   *
   * @throws IllegalArgumentException when the seed is not 0 to 4294967295
   */
  public static long of(long seed) {
    if (seed < 0 || seed > MAX_SEED) {
      throw new IllegalArgumentException("must be 0 to " + MAX_SEED + ", is " + seed);
    }
    ByteBuffer key = ByteBuffer.wrap(secret((int) seed)).order(ByteOrder.LITTLE_ENDIAN);
    long hash = new SipHash(key.getLong(), key.getLong()).of(Long.toString(seed).getBytes(StandardCharsets.US_ASCII));
    return hash == -1 ? -2 : hash;
  }

  /** CPython's key for a seed: the bytes of a linear congruential generator, and zeros for 0. */
  private static byte[] secret(int seed) {
    byte[] bytes = new byte[2 * Long.BYTES];
    int state = seed;
    for (int i = 0; seed != 0 && i < bytes.length; i++) {
      state = state * 214013 + 2531011;
      bytes[i] = (byte) (state >>> 16);
    }
    return bytes;
  }

  /** SipHash-1-3 under one key. */
  private static final class SipHash {
    private long v0;
    private long v1;
    private long v2;
    private long v3;

    SipHash(long key0, long key1) {
      v0 = key0 ^ 0x736f6d6570736575L;
      v1 = key1 ^ 0x646f72616e646f6dL;
      v2 = key0 ^ 0x6c7967656e657261L;
      v3 = key1 ^ 0x7465646279746573L;
    }

    long of(byte[] bytes) {
      ByteBuffer words = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
      while (words.remaining() >= Long.BYTES) {
        add(words.getLong());
      }
      long last = (long) bytes.length << 56;
      for (int shift = 0; words.hasRemaining(); shift += Byte.SIZE) {
        last |= (words.get() & 0xFFL) << shift;
      }
      add(last);
      v2 ^= 0xFF;
      round();
      round();
      round();
      return v0 ^ v1 ^ v2 ^ v3;
    }

    private void add(long word) {
      v3 ^= word;
      round();
      v0 ^= word;
    }

    private void round() {
      v0 += v1;
      v2 += v3;
      v1 = Long.rotateLeft(v1, 13) ^ v0;
      v3 = Long.rotateLeft(v3, 16) ^ v2;
      v0 = Long.rotateLeft(v0, 32);
      v2 += v1;
      v0 += v3;
      v1 = Long.rotateLeft(v1, 17) ^ v2;
      v3 = Long.rotateLeft(v3, 21) ^ v0;
      v2 = Long.rotateLeft(v2, 32);
    }
  }
}
