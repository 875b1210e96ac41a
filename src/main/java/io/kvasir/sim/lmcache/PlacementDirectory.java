package io.kvasir.sim.lmcache;

import io.kvasir.sim.lmcache.CacheEventBatch.Entry;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which instances hold which chunks, by what they report, with the rules of LMCache 0.5.6's coordinator ({@code
 * ingest/event_gate.py} and {@code views/key_directory.py}): batches that were seen are dropped, and what an instance
 * had in memory goes with its incarnation. It holds what the instances do, and so no more than they have room for.
 * Thread-safe.
 */
final class PlacementDirectory {
  private static final Comparator<Placement> ORDER =
      Comparator.comparing(Placement::instance).thenComparing(Placement::tier).thenComparing(Placement::backend);
  private static final int[] NO_TOKENS = {};

  /** In the order in which they came. */
  private final Map<ChunkKey, StoredKey> stored = new LinkedHashMap<>();
  private final Map<String, Chunk> chunks = new HashMap<>();
  private final Map<String, Cursor> cursors = new HashMap<>();
  /** What each instance has in memory; an instance that reported anything is there. */
  private final Map<String, Set<ChunkKey>> inMemory = new LinkedHashMap<>();

  /** What became of a batch. */
  enum Outcome {
    APPLIED,
    DUPLICATE,
    STALE
  }

  /** One copy of a key; all instances that share a backend have one there together. */
  record Placement(String instance, long incarnation, String tier, String backend, long bytes, boolean shared) {
    private boolean isWhere(CacheEventBatch batch) {
      return shared == batch.shared() && (shared || instance.equals(batch.instance())) && tier.equals(batch.tier())
          && backend.equals(batch.backend());
    }
  }

  /** What is known of a key: an unknown one has no placements. */
  record KeyRow(ChunkKey key, List<Placement> placements, int[] tokens, int accesses) {}

  /** How much there is. */
  record Figures(
      int keys, Map<String, Integer> inMemory, int memoryCopies, long memoryBytes, int storageCopies,
      long storageBytes) {}

  private record Cursor(long incarnation, long sequence) {}

  private static final class StoredKey {
    private final List<Placement> placements = new ArrayList<>();
    private int accesses;
  }

  private static final class Chunk {
    private final Set<ChunkKey> keys = new LinkedHashSet<>();
    private int[] tokens = NO_TOKENS;
  }

  /** Takes a batch in, unless it comes late or again. */
  synchronized Outcome apply(CacheEventBatch batch) {
    Cursor cursor = cursors.get(batch.instance());
    if (cursor != null && batch.incarnation() < cursor.incarnation()) {
      return Outcome.STALE;
    }
    if (cursor != null && batch.incarnation() > cursor.incarnation()) {
      removeMemory(batch.instance());
    } else if (cursor != null && batch.sequence() <= cursor.sequence()) {
      return Outcome.DUPLICATE;
    }
    cursors.put(batch.instance(), new Cursor(batch.incarnation(), batch.sequence()));
    Set<ChunkKey> memory = inMemory.computeIfAbsent(batch.instance(), _ -> new HashSet<>());
    for (Entry entry : batch.entries()) {
      switch (batch.type()) {
        case STORE -> store(batch, entry, memory);
        case DELETE -> delete(batch, entry.key(), memory);
        case ACCESS -> {
          StoredKey known = stored.get(entry.key());
          if (known != null) {
            known.accesses++;
          }
        }
        case CONFIG -> {
          // It declares a capacity, which nobody asks this directory for.
        }
      }
    }
    return Outcome.APPLIED;
  }

  /** An instance has left: what it had in memory is no more. */
  synchronized void remove(String instance) {
    removeMemory(instance);
    cursors.remove(instance);
  }

  /** What is known of each key, in the same order. */
  synchronized List<KeyRow> lookup(List<ChunkKey> keys) {
    return keys.stream().map(this::row).toList();
  }

  /** The same, with the keys of the same chunks' other groups of layers that are stored, after each. */
  synchronized List<KeyRow> lookupAllGroups(List<ChunkKey> keys) {
    List<ChunkKey> all = new ArrayList<>();
    for (ChunkKey key : keys) {
      Chunk chunk = chunks.get(key.chunkHash());
      all.add(key);
      if (chunk != null) {
        chunk.keys.stream()
            .filter(other -> !other.equals(key) && other.withObjectGroup(key.objectGroup()).equals(key))
            .sorted(Comparator.comparingInt(ChunkKey::objectGroup))
            .forEach(all::add);
      }
    }
    return lookup(all);
  }

  synchronized Figures figures() {
    Map<String, Integer> keys = new LinkedHashMap<>();
    inMemory.forEach((instance, held) -> keys.put(instance, held.size()));
    int[] copies = new int[2];
    long[] bytes = new long[2];
    for (StoredKey key : stored.values()) {
      for (Placement placement : key.placements) {
        int tier = placement.tier().equals(CacheEventBatch.MEMORY) ? 0 : 1;
        copies[tier]++;
        bytes[tier] += placement.bytes();
      }
    }
    return new Figures(stored.size(), keys, copies[0], bytes[0], copies[1], bytes[1]);
  }

  private KeyRow row(ChunkKey key) {
    StoredKey known = stored.get(key);
    Chunk chunk = chunks.get(key.chunkHash());
    return new KeyRow(
        key, known == null ? List.of() : known.placements.stream().sorted(ORDER).toList(),
        chunk == null ? NO_TOKENS : chunk.tokens, known == null ? 0 : known.accesses);
  }

  private void store(CacheEventBatch batch, Entry entry, Set<ChunkKey> memory) {
    ChunkKey key = entry.key();
    StoredKey known = stored.computeIfAbsent(key, _ -> new StoredKey());
    Chunk chunk = chunks.computeIfAbsent(key.chunkHash(), _ -> new Chunk());
    chunk.keys.add(key);
    known.placements.removeIf(placement -> placement.isWhere(batch));
    known.placements.add(
        new Placement(
            batch.instance(), batch.incarnation(), batch.tier(), batch.backend(), entry.bytes(), batch.shared()));
    if (entry.tokens().length > 0) {
      chunk.tokens = entry.tokens();
    }
    if (batch.tier().equals(CacheEventBatch.MEMORY)) {
      memory.add(key);
    }
  }

  private void delete(CacheEventBatch batch, ChunkKey key, Set<ChunkKey> memory) {
    StoredKey known = stored.get(key);
    if (known == null) {
      return;
    }
    known.placements.removeIf(placement -> placement.isWhere(batch));
    if (known.placements.stream().noneMatch(placement -> isInMemoryOf(placement, batch.instance()))) {
      memory.remove(key);
    }
    forgetUnlessHeld(key, known);
  }

  private void removeMemory(String instance) {
    Set<ChunkKey> held = inMemory.remove(instance);
    if (held == null) {
      return;
    }
    for (ChunkKey key : held) {
      StoredKey known = stored.get(key);
      if (known != null) {
        known.placements.removeIf(placement -> isInMemoryOf(placement, instance));
        forgetUnlessHeld(key, known);
      }
    }
  }

  private static boolean isInMemoryOf(Placement placement, String instance) {
    return placement.tier().equals(CacheEventBatch.MEMORY) && placement.instance().equals(instance);
  }

  private void forgetUnlessHeld(ChunkKey key, StoredKey known) {
    if (!known.placements.isEmpty()) {
      return;
    }
    stored.remove(key);
    @Nullable Chunk chunk = chunks.get(key.chunkHash());
    if (chunk != null) {
      chunk.keys.remove(key);
      if (chunk.keys.isEmpty()) {
        chunks.remove(key.chunkHash());
      }
    }
  }
}
