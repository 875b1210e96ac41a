package io.kvasir.sim.lmcache;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The names that LMCache gives to the chunks an engine keeps, found by the engine's own keys. Not thread-safe. */
public final class ChunkNames {
  private final long noneHash;
  private final Map<Long, Long> names = new HashMap<>();

  /** No names yet; those of prompts' first chunks begin from {@code noneHash}. */
  public ChunkNames(long noneHash) {
    this.noneHash = noneHash;
  }

  /**
   * A chunk is kept from now on.
   *
   * @param before the engine's key of the chunk before it, which is kept too; null for a prompt's first
   * @param key the engine's key
   * @param tokens the chunk's, unsigned
   * @return its name
   */
  public long add(@Nullable Long before, long key, int[] tokens) {
    long name = ChunkHashes.next(before == null ? noneHash : name(before), tokens, 0, tokens.length);
    names.put(key, name);
    return name;
  }

  /** Whether none is kept. */
  public boolean isEmpty() {
    return names.isEmpty();
  }

  /** The name of a chunk that is kept. */
  public long name(long key) {
    Long name = names.get(key);
    if (name == null) {
      throw new IllegalStateException("No chunk is kept under the key " + key);
    }
    return name;
  }

  /** A chunk is kept no more; returns its name. */
  public long remove(long key) {
    long name = name(key);
    names.remove(key);
    return name;
  }
}
