package io.kvasir.sim.lmcache;

import io.kvasir.sim.lmcache.CacheEventBatch.Entry;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The chunks that a rank keeps in host memory, reported to a coordinator, found by the engine's own keys. Not
 * thread-safe.
 */
public final class ReportedChunks {
  private final CacheEventReporter reporter;
  private final String model;
  private final long tokenBytes;
  private final Map<Long, ChunkKey> keys = new HashMap<>();

  /**
   * None yet.
   *
   * @param model that the engine was started with
   * @param tokenBytes that a token's KV takes
   */
  public ReportedChunks(CacheEventReporter reporter, String model, long tokenBytes) {
    this.reporter = reporter;
    this.model = model;
    this.tokenBytes = tokenBytes;
  }

  /**
   * A chunk is kept from now on.
   *
   * @param before the engine's key of the chunk before it, which is kept too; null for a prompt's first
   * @param key the engine's key
   * @param tokens the chunk's, unsigned
   * @param offset of its first token in the prompt
   * @param salt that keeps tenants apart; null without one
   */
  public void add(@Nullable Long before, long key, int[] tokens, int offset, @Nullable String salt) {
    String name = TokenHasher.next(before == null ? "" : kept(before).chunkHash(), tokens);
    ChunkKey chunk = new ChunkKey(name, model, ChunkKey.kvRank(1, 0), 0, salt == null ? "" : salt);
    keys.put(key, chunk);
    reporter.stored(new Entry(chunk, tokenBytes * tokens.length, tokens, offset));
  }

  /** A chunk is kept no more. */
  public void remove(long key) {
    ChunkKey chunk = kept(key);
    keys.remove(key);
    reporter.dropped(chunk);
  }

  private ChunkKey kept(long key) {
    ChunkKey chunk = keys.get(key);
    if (chunk == null) {
      throw new IllegalStateException("No chunk is kept under the key " + key);
    }
    return chunk;
  }
}
