package io.kvasir.enginemodel;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The keys of a sequence's full blocks, as vLLM's {@code sha256_cbor} makes them: the digest of the canonical CBOR of
 * (digest of the block before, tokens, extra keys), of which the last eight bytes are the key. The LoRA
 * name is an extra key of every block, the cache salt of the first, and with lookahead the token after a block that of
 * this block, which has no key before. The digest before the first block is that of the engine's seed, so two engines
 * give the same block different keys, and no router can rely on them.
 *
 * <p>Tokens are unsigned 32-bit numbers. Not thread-safe.
 */
public final class KeyChain {
  private static final int DIGEST = 32;

  private final int blockSize;
  private final @Nullable String lora;
  private final @Nullable String salt;
  private final MessageDigest sha256 = sha256();
  private final Cbor cbor;
  private final boolean lookahead;
  private final int[] pending;
  private int pendingCount;
  private byte[] parent;
  private long[] keys = new long[16];
  private int size;

  /**
   * An empty chain.
   *
   * @param root the engine's digest before any block, from {@link #root(String)}
   * @param lora LoRA name, or null
   * @param salt cache salt, or null
   * @param lookahead whether a block's key depends on the token after it
   */
  public KeyChain(
      byte[] root, int blockSize, @Nullable String lora, @Nullable String salt, boolean lookahead) {
    this.lookahead = lookahead;
    this.parent = root.clone();
    this.blockSize = blockSize;
    this.lora = lora;
    this.salt = salt;
    this.pending = new int[blockSize];
    this.cbor = new Cbor(64 + 5 * blockSize);
  }

  /** The parent digest of an engine's first blocks: that of its seed, as PYTHONHASHSEED gives it. */
  public static byte[] root(String seed) {
    Cbor cbor = new Cbor(16);
    cbor.text(seed);
    return sha256().digest(cbor.bytes());
  }

  /** Appends {@code tokens[from, to)}. */
  public void append(int[] tokens, int from, int to) {
    for (int i = from; i < to; i++) {
      append(tokens[i]);
    }
  }

  /** Appends one token. */
  public void append(int token) {
    if (lookahead && pendingCount == blockSize) {
      complete(token);
    }
    pending[pendingCount++] = token;
    if (!lookahead && pendingCount == blockSize) {
      complete(0);
    }
  }

  private void complete(int next) {
    pendingCount = 0;
    parent = digest(next);
    if (size == keys.length) {
      keys = Arrays.copyOf(keys, size * 2);
    }
    keys[size++] = ByteBuffer.wrap(parent, DIGEST - Long.BYTES, Long.BYTES).getLong();
  }

  /** The number of full blocks so far. */
  public int size() {
    return size;
  }

  /** The key of full block {@code block} &lt; {@link #size()}. */
  public long key(int block) {
    return keys[block];
  }

  private byte[] digest(int next) {
    cbor.reset();
    cbor.head(4, 3);
    cbor.byteString(parent);
    cbor.head(4, blockSize);
    for (int token : pending) {
      cbor.head(0, Integer.toUnsignedLong(token));
    }
    if (lookahead) {
      cbor.head(4, 2);
      extraKeys();
      cbor.head(0, Integer.toUnsignedLong(next));
    } else {
      extraKeys();
    }
    sha256.update(cbor.buffer, 0, cbor.length);
    return sha256.digest();
  }

  private void extraKeys() {
    String firstSalt = size == 0 ? salt : null;
    int extras = (lora == null ? 0 : 1) + (firstSalt == null ? 0 : 1);
    if (extras == 0) {
      cbor.none();
    } else {
      cbor.head(4, extras);
      if (lora != null) {
        cbor.text(lora);
      }
      if (firstSalt != null) {
        cbor.text(firstSalt);
      }
    }
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Every Java platform has SHA-256", e);
    }
  }

  /** The few forms of canonical CBOR (RFC 8949 §4.2) that a block needs. */
  private static final class Cbor {
    byte[] buffer;
    int length;

    Cbor(int capacity) {
      buffer = new byte[capacity];
    }

    void reset() {
      length = 0;
    }

    void head(int major, long value) {
      room(9);
      int type = major << 5;
      if (value < 24) {
        buffer[length++] = (byte) (type | value);
      } else if (value < 1 << 8) {
        buffer[length++] = (byte) (type | 24);
        buffer[length++] = (byte) value;
      } else if (value < 1 << 16) {
        buffer[length++] = (byte) (type | 25);
        buffer[length++] = (byte) (value >> 8);
        buffer[length++] = (byte) value;
      } else {
        buffer[length++] = (byte) (type | 26);
        buffer[length++] = (byte) (value >> 24);
        buffer[length++] = (byte) (value >> 16);
        buffer[length++] = (byte) (value >> 8);
        buffer[length++] = (byte) value;
      }
    }

    void byteString(byte[] value) {
      head(2, value.length);
      put(value);
    }

    void text(String value) {
      byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
      head(3, utf8.length);
      put(utf8);
    }

    void none() {
      room(1);
      buffer[length++] = (byte) 0xf6;
    }

    byte[] bytes() {
      return Arrays.copyOf(buffer, length);
    }

    private void put(byte[] value) {
      room(value.length);
      System.arraycopy(value, 0, buffer, length, value.length);
      length += value.length;
    }

    private void room(int more) {
      if (length + more > buffer.length) {
        buffer = Arrays.copyOf(buffer, Math.max(buffer.length * 2, length + more));
      }
    }
  }
}
