package io.kvasir.index;

import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** What an index must know, in nested maps: per slot, engine key → chain hash and copies per tier. */
final class Oracle {
  record Block(long hash, EnumMap<Tier, Integer> copies) {}

  private final Map<Integer, Map<Long, Block>> workers = new TreeMap<>();
  private final Set<Integer> retired = new HashSet<>();

  void open(int slot) {
    workers.put(slot, new HashMap<>());
  }

  void retire(int slot) {
    retired.add(slot);
  }

  void sweep(int slot) {
    retired.remove(slot);
    workers.remove(slot);
  }

  boolean isAlive(int slot) {
    return workers.containsKey(slot) && !retired.contains(slot);
  }

  Map<Long, Block> blocks(int slot) {
    return workers.getOrDefault(slot, Map.of());
  }

  void store(int slot, long key, long hash, Tier tier, boolean counted) {
    Block block = blocks(slot).get(key);
    if (block == null || block.hash != hash) {
      block = new Block(hash, new EnumMap<>(Tier.class));
      blocks(slot).put(key, block);
    }
    block.copies.merge(tier, 1, counted ? Integer::sum : Math::max);
  }

  boolean remove(int slot, long key, Tier tier, boolean counted) {
    Block block = blocks(slot).get(key);
    if (block == null || !block.copies.containsKey(tier)) {
      return false;
    }
    int left = counted ? block.copies.get(tier) - 1 : 0;
    if (left > 0) {
      block.copies.put(tier, left);
      return false;
    }
    block.copies.remove(tier);
    if (block.copies.isEmpty()) {
      blocks(slot).remove(key);
    }
    return true;
  }

  void clear(int slot, Tier tier) {
    blocks(slot).values().forEach(block -> block.copies.remove(tier));
    blocks(slot).values().removeIf(block -> block.copies.isEmpty());
  }

  void clear(int slot) {
    blocks(slot).clear();
  }

  boolean holds(int slot, long hash) {
    return isAlive(slot) && blocks(slot).values().stream().anyMatch(block -> block.hash == hash);
  }

  /** The hashes a slot holds, with their nearest tiers. */
  Map<Long, Tier> held(int slot) {
    Map<Long, Tier> held = new HashMap<>();
    if (isAlive(slot)) {
      for (Block block : blocks(slot).values()) {
        Tier nearest = block.copies.keySet().iterator().next();
        held.merge(block.hash, nearest, (a, b) -> a.compareTo(b) <= 0 ? a : b);
      }
    }
    return held;
  }

  static int depth(Map<Long, Tier> held, long[] chain) {
    int depth = 0;
    while (depth < chain.length && held.containsKey(chain[depth])) {
      depth++;
    }
    return depth;
  }

  /** Distinct blocks in the index, those of retired workers too. */
  int rows() {
    Set<Long> hashes = new HashSet<>();
    workers.values().forEach(worker -> worker.values().forEach(block -> hashes.add(block.hash)));
    return hashes.size();
  }
}
