package io.kvasir.index;

import com.dynatrace.hash4j.hashing.Hasher64;
import com.dynatrace.hash4j.hashing.Hashing;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The 64-bit chained hashes that name blocks: a block's hash stands for its tokens and everything before it, in a
 * namespace (LoRA adapter, cache salt). The numbers are those of NVIDIA Dynamo's router (XXH3-64, seed 1337), so that
 * tools can be shared.
 *
 * <p>0 means "no block" throughout the index; the one chain in 2⁶⁴ that hashes to it is named 1.
 * Thread-safe; allocates a buffer for each hashed block.
 */
public final class BlockHash {
  /** No block. */
  public static final long NONE = 0;

  private static final long SEED = 1337;
  private static final Hasher64 CHAIN = Hashing.xxh3_64(SEED);
  private static final Hasher64 LORA = Hashing.xxh3_64(0);
  private static final Hasher64 SALT = Hashing.xxh3_64(1);
  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private final Hasher64 local;

  private BlockHash(long seed) {
    this.local = seed == SEED ? CHAIN : Hashing.xxh3_64(seed);
  }

  /** The hashing of the namespace of {@code lora} and {@code cacheSalt}; an empty one counts as absent. */
  public static BlockHash in(@Nullable String lora, @Nullable String cacheSalt) {
    long seed = SEED;
    if (lora != null && !lora.isEmpty()) {
      seed += LORA.hashBytesToLong(lora.getBytes(StandardCharsets.UTF_8));
    }
    if (cacheSalt != null && !cacheSalt.isEmpty()) {
      seed += SALT.hashBytesToLong(cacheSalt.getBytes(StandardCharsets.UTF_8));
    }
    return new BlockHash(seed);
  }

  /** The hash of one block's own tokens, read as unsigned 32-bit, whatever came before it. */
  public long local(int[] tokens, int from, int count) {
    byte[] bytes = new byte[count * Integer.BYTES];
    for (int i = 0; i < count; i++) {
      INT.set(bytes, i * Integer.BYTES, tokens[from + i]);
    }
    return local.hashBytesToLong(bytes);
  }

  /** The chain hash of a block with local hash {@code local} that follows the block {@code parent}. */
  public static long chained(long parent, long local) {
    if (parent == NONE) {
      return named(local);
    }
    byte[] bytes = new byte[2 * Long.BYTES];
    LONG.set(bytes, 0, parent);
    LONG.set(bytes, Long.BYTES, local);
    return named(CHAIN.hashBytesToLong(bytes));
  }

  /** A token in 16 bits: two of a vocabulary of 150,000 are the same once in 65,536. */
  public static short fold(int token) {
    return (short) (token ^ token >>> Short.SIZE);
  }

  /** The name of the block {@code hash} among prompts that go on with one token. */
  public static long withLookahead(long hash, short folded) {
    return chained(hash, folded & 0xffffL);
  }

  /**
   * Appends the chain hashes of the full blocks of {@code tokens[from, to)} that follow {@code parent}
   * ({@link #NONE} for a root) to {@code out} at {@code at}, and returns how many there were.
   */
  public int chain(long parent, int[] tokens, int from, int to, int blockSize, long[] out, int at) {
    int blocks = (to - from) / blockSize;
    long hash = parent;
    for (int i = 0; i < blocks; i++) {
      hash = chained(hash, local(tokens, from + i * blockSize, blockSize));
      out[at + i] = hash;
    }
    return blocks;
  }

  private static long named(long hash) {
    return hash == NONE ? 1 : hash;
  }
}
