package io.kvasir.events;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * The keys that TensorRT-LLM gives to the first block of a prompt under neither adapter nor cache salt. There are three
 * ways, of which events tell at most the name: {@code v1_block_key}, 64 bits that are mixed token by token, and {@code
 * v2_sha256} with {@code v2_sha256_64}, SHA-256 over the parent's digest and the tokens. After {@code
 * tensorrt_llm/runtime/kv_cache_hash.py} and {@code kv_cache_manager_v2/_block_radix_tree.py}; tried with the vectors
 * in {@code TensorRtKeysTest}.
 */
final class TensorRtKeys {
  private static final int MIX = 0x45D9F3B;
  private static final int GOLDEN = 0x9E3779B9;
  /** The digest before a first block: of the mask of what keeps prompts apart, which is nothing. */
  private static final byte[] ROOT = sha256(new byte[] {0});

  private TensorRtKeys() {}

  /**
   * Whether a key is that of a first block with these tokens and nothing else.
   *
   * @param key as read: of a key of 256 bits the last 64
   */
  static boolean isOf(int[] tokens, long key) {
    if (key == mixed(tokens)) {
      return true;
    }
    ByteBuffer digest = ByteBuffer.wrap(digest(tokens));
    return key == digest.getLong(0) || key == digest.getLong(digest.capacity() - Long.BYTES);
  }

  /** {@code v1_block_key}. */
  static long mixed(int[] tokens) {
    long seed = tokens.length;
    for (int token : tokens) {
      int value = ((token >>> 16) ^ token) * MIX;
      value = ((value >>> 16) ^ value) * MIX;
      value = ((value >>> 16) ^ value) + GOLDEN;
      seed ^= Integer.toUnsignedLong(value) + (seed << 6) + (seed >>> 2);
    }
    return seed;
  }

  /** {@code v2_sha256}. */
  static byte[] digest(int[] tokens) {
    ByteBuffer content = ByteBuffer.allocate(ROOT.length + tokens.length * Integer.BYTES);
    content.put(ROOT).order(ByteOrder.LITTLE_ENDIAN);
    for (int token : tokens) {
      content.putInt(token);
    }
    return sha256(content.array());
  }

  private static byte[] sha256(byte[] content) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(content);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }
}
